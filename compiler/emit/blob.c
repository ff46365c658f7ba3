#include "emit/blob.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "ir/interp.h"

// Appends n bytes, aligned to 16; returns where they are.
static int64_t append(Blob *b, const void *data, size_t n)
{
    while (b->bytes.n % 16)
        vec_push(b->arena, &b->bytes, 0);
    int64_t at = b->bytes.n;
    for (size_t i = 0; i < n; i++)
        vec_push(b->arena, &b->bytes, ((const char *)data)[i]);
    return at;
}

static RtSplit split_table(const Split *s)
{
    RtSplit t = {.n = s->n};
    static_assert((int)RT_MAX_ITEMS >= (int)MAX_ITEMS, "items");
    memcpy(t.item, s->item, sizeof s->item[0] * (size_t)s->n);
    return t;
}

static RtPlace place_of(const Buffer *b, int64_t at, int64_t step)
{
    return (RtPlace){b->is_shared, b->at + at, step};
}

static int64_t write_steps(Blob *b, const Plan *p)
{
    RtStep *t = arena_new(b->arena, RtStep, (size_t)p->steps.n + 1);
    for (int i = 0; i < p->steps.n; i++) {
        const Step *s = &p->steps.at[i];
        t[i] = (RtStep){(int32_t)s->kind, s->index, s->trip};
    }
    return append(b, t, sizeof *t * (size_t)p->steps.n);
}

static int32_t combine_of(const Op *op)
{
    const char *name = op_str(op, A_combine);
    for (int i = 0; name && i < NCOMBINER; i++)
        if (strcmp(name, combiner_name[i]) == 0)
            return i;
    return RT_SUM;
}

// Bytes as the reports count them: of the gathered result, else of the source.
static int64_t counted_bytes(const Op *op)
{
    const Type *in = &op->operand[0]->type;
    int64_t a = type_bytes(in), b = type_bytes(&op->type);
    bool gathers = op_lowering[op->code].collective == RT_ALL_GATHER;
    return gathers ? b : a;
}

static RtCollective collective_table(const Transfer *x)
{
    const Op *op = x->op;
    const Type *in = &op->operand[0]->type;
    const Attr *from = op_attr(op, A_from), *to = op_attr(op, A_to);
    const Attr *group = from ? from : op_attr(op, A_axes);
    RtCollective t = {
        .id = (int32_t)op_int(op, A_id, 0),
        .kind = (int32_t)op_lowering[op->code].collective,
        .combine = combine_of(op),
        .dtype = (int32_t)in->dtype,
        .rank = in->rank,
        .split_dim = (int32_t)op_int(op, A_split_dim, 0),
        .concat_dim = (int32_t)op_int(op, A_concat_dim, 0),
        .group = split_table(group->split),
        .source = place_of(x->source, x->at, x->step),
        .result = place_of(x->result, 0, 0),
        .bytes = counted_bytes(op),
    };
    for (int i = 0; i < in->rank; i++)
        t.dim[i] = in->dim[i];
    if (to)
        t.to = split_table(to->split);
    return t;
}

static int64_t write_collectives(Blob *b, const Plan *p)
{
    int n = p->transfers.n;
    RtCollective *t = arena_new(b->arena, RtCollective, (size_t)n + 1);
    for (int i = 0; i < n; i++)
        t[i] = collective_table(p->transfers.at[i]);
    return append(b, t, sizeof *t * (size_t)n);
}

static RtTensor tensor_table(const Tensor *x)
{
    const Placed *placed = &x->placed;
    RtTensor t = {
        .class_ = (int32_t)x->class_,
        .dtype = (int32_t)x->local.dtype,
        .rank = x->local.rank,
        .has_limit = placed->limit != 0,
        .limit = placed->limit,
        .place = place_of(x->buffer, x->at, 0),
    };
    snprintf(t.name, sizeof t.name, "%s", placed->name);
    for (int i = 0; i < t.rank; i++) {
        t.dim[i] = placed->type.dim[i];
        t.local[i] = x->local.dim[i];
        t.split[i] = split_table(&placed->sharding.dim[i]);
    }
    return t;
}

static int64_t write_tensors(Blob *b, const Plan *p)
{
    int n = p->tensors.n;
    RtTensor *t = arena_new(b->arena, RtTensor, (size_t)n + 1);
    for (int i = 0; i < n; i++)
        t[i] = tensor_table(&p->tensors.at[i]);
    return append(b, t, sizeof *t * (size_t)n);
}

// A constant's numbers as they lie in memory.
static int64_t write_numbers(Blob *b, const Op *op)
{
    const Attr *value = op_attr(op, A_value);
    DType t = op->type.dtype;
    size_t size = (size_t)dtype_bytes[t];
    char *data = arena_alloc(b->arena, size, 16, (size_t)value->n);
    for (int i = 0; i < value->n; i++) {
        double x = value->floats[i];
        float f = (float)(t == DT_bf16 ? round_bf16(x) : x);
        int32_t whole = t == DT_i32 ? (int32_t)x : 0;
        char flag = x != 0;
        const void *from = t == DT_i32    ? (void *)&whole
                           : t == DT_bool ? (void *)&flag
                           : t == DT_bf16 ? (char *)&f + 2
                                          : (void *)&f;
        memcpy(data + (size_t)i * size, from, size);
    }
    return append(b, data, size * (size_t)value->n);
}

static int64_t write_constants(Blob *b, const Plan *p, int32_t *count)
{
    RtConstant *t = arena_new(b->arena, RtConstant, (size_t)p->buffers.n + 1);
    int n = 0;
    for (int i = 0; i < p->buffers.n; i++) {
        const Buffer *x = p->buffers.at[i];
        if (x->constant)
            t[n++] = (RtConstant){place_of(x, 0, 0), x->bytes,
                                  write_numbers(b, x->constant)};
    }
    *count = n;
    return append(b, t, sizeof *t * (size_t)n);
}

static void describe_mesh(RtProgram *h, const Mesh *m)
{
    int at = 0, room = (int)sizeof h->mesh;
    h->ndevice = m->ndevice;
    h->natom = m->natom;
    for (int i = 0; i < m->natom; i++)
        h->atom[i] =
            (RtAtom){.size = m->atom[i].size, .stride = m->atom[i].stride};
    for (int i = 0; i < m->naxis && at < room; i++)
        at += snprintf(h->mesh + at, (size_t)(room - at), "%s%s=%d",
                       i ? " " : "", m->axis[i].name, m->axis[i].size);
}

void blob_write(Blob *b, const Plan *p)
{
    RtProgram h = {
        .magic = RT_MAGIC,
        .priv_bytes = p->bytes[0],
        .shared_bytes = p->bytes[1],
        .nkernel = p->kernels.n,
        .nstep = p->steps.n,
        .ncollective = p->transfers.n,
        .ntensor = p->tensors.n,
    };
    append(b, &h, sizeof h);
    describe_mesh(&h, &p->module->mesh);
    h.steps = write_steps(b, p);
    h.collectives = write_collectives(b, p);
    h.tensors = write_tensors(b, p);
    h.constants = write_constants(b, p, &h.nconstant);
    memcpy(b->bytes.at, &h, sizeof h);
}
