#include "emit/blob.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "ir/interp.h"

int64_t blob_append(Blob *b, const void *data, size_t n)
{
    while (b->bytes.n % 16)
        vec_push(b->arena, &b->bytes, 0);
    int64_t at = b->bytes.n;
    for (size_t i = 0; i < n; i++)
        vec_push(b->arena, &b->bytes, ((const char *)data)[i]);
    return at;
}

// Tables are filled field by field in zeroed memory, so that what lies between
// the fields is the same in every object.

static void set_split(RtSplit *t, const Split *s)
{
    static_assert((int)RT_MAX_ITEMS >= (int)MAX_ITEMS, "items");
    t->n = s->n;
    memcpy(t->item, s->item, sizeof s->item[0] * (size_t)s->n);
}

static void set_place(RtPlace *t, const Buffer *b, int64_t at, int64_t step)
{
    t->is_shared = b->is_shared;
    t->at = b->at + at;
    t->step = step + b->step;
}

static int64_t write_steps(Blob *b, const Plan *p)
{
    RtStep *t = arena_new(b->arena, RtStep, (size_t)p->steps.n + 1);
    for (int i = 0; i < p->steps.n; i++) {
        const Step *s = &p->steps.at[i];
        t[i] = (RtStep){(int32_t)s->kind, s->index, s->trip};
    }
    return blob_append(b, t, sizeof *t * (size_t)p->steps.n);
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

static void set_collective(RtCollective *t, const Transfer *x)
{
    const Op *op = x->op;
    const Type *in = &op->operand[0]->type;
    const Attr *from = op_attr(op, A_from), *to = op_attr(op, A_to);
    t->id = (int32_t)op_int(op, A_id, 0);
    t->kind = (int32_t)op_lowering[op->code].collective;
    t->combine = combine_of(op);
    t->dtype = (int32_t)in->dtype;
    t->rank = in->rank;
    t->split_dim = (int32_t)op_int(op, A_split_dim, 0);
    t->concat_dim = (int32_t)op_int(op, A_concat_dim, 0);
    t->bytes = counted_bytes(op);
    for (int i = 0; i < in->rank; i++)
        t->dim[i] = in->dim[i];
    set_split(&t->group, from ? from->split : op_attr(op, A_axes)->split);
    if (to)
        set_split(&t->to, to->split);
    set_place(&t->source, x->source, x->at, x->step);
    set_place(&t->result, x->result, 0, 0);
}

static int64_t write_collectives(Blob *b, const Plan *p)
{
    int n = p->transfers.n;
    RtCollective *t = arena_new(b->arena, RtCollective, (size_t)n + 1);
    for (int i = 0; i < n; i++)
        set_collective(&t[i], p->transfers.at[i]);
    return blob_append(b, t, sizeof *t * (size_t)n);
}

static void set_tensor(RtTensor *t, const Tensor *x)
{
    const Placed *placed = &x->placed;
    t->class_ = (int32_t)x->class_;
    t->dtype = (int32_t)x->local.dtype;
    t->rank = x->local.rank;
    t->has_limit = placed->limit != 0;
    t->donor = x->donor;
    t->init = (int32_t)x->init;
    t->init_value = x->init_value;
    t->limit = placed->limit;
    snprintf(t->name, sizeof t->name, "%s", placed->name);
    for (int i = 0; i < t->rank; i++) {
        t->dim[i] = placed->type.dim[i];
        t->local[i] = x->local.dim[i];
        set_split(&t->split[i], &placed->sharding.dim[i]);
    }
    set_place(&t->place, x->buffer, x->at, 0);
}

static int64_t write_tensors(Blob *b, const Plan *p)
{
    int n = p->tensors.n;
    RtTensor *t = arena_new(b->arena, RtTensor, (size_t)n + 1);
    for (int i = 0; i < n; i++)
        set_tensor(&t[i], &p->tensors.at[i]);
    return blob_append(b, t, sizeof *t * (size_t)n);
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
        int32_t whole = t == DT_i32 ? (int32_t)round_i32(x) : 0;
        char flag = x != 0;
        const void *from = t == DT_i32    ? (void *)&whole
                           : t == DT_bool ? (void *)&flag
                           : t == DT_bf16 ? (char *)&f + 2
                                          : (void *)&f;
        memcpy(data + (size_t)i * size, from, size);
    }
    return blob_append(b, data, size * (size_t)value->n);
}

static int64_t write_constants(Blob *b, const Plan *p, int32_t *count)
{
    RtConstant *t = arena_new(b->arena, RtConstant, (size_t)p->buffers.n + 1);
    int n = 0;
    for (int i = 0; i < p->buffers.n; i++) {
        const Buffer *x = p->buffers.at[i];
        if (!x->constant)
            continue;
        set_place(&t[n].place, x, 0, 0);
        t[n].bytes = x->bytes;
        t[n++].data = write_numbers(b, x->constant);
    }
    *count = n;
    return blob_append(b, t, sizeof *t * (size_t)n);
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
    RtProgram *h = arena_new(b->arena, RtProgram, 1);
    h->magic = RT_MAGIC;
    h->priv_bytes = p->bytes[0];
    h->shared_bytes = p->bytes[1];
    h->nkernel = p->kernels.n;
    h->nstep = p->steps.n;
    h->ncollective = p->transfers.n;
    h->ntensor = p->tensors.n;
    blob_append(b, h, sizeof *h);
    describe_mesh(h, &p->module->mesh);
    h->steps = write_steps(b, p);
    h->collectives = write_collectives(b, p);
    h->tensors = write_tensors(b, p);
    h->constants = write_constants(b, p, &h->nconstant);
    h->probes = probes_write(b, p);
    memcpy(b->bytes.at, h, sizeof *h);
}
