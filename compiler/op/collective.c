// Changes of placement: shard, reshard, and the collectives.
//
// In SHARDED a collective keeps the global type and `apply` says what it does
// to the sharding; in LOCAL it changes a device's shape and `exchange` says
// what data goes where.
#include <math.h>
#include <string.h>

#include "ir/build.h"
#include "op/util.h"

static bool infer_same(const Func *f, Op *op, Diag *d)
{
    (void)f, (void)d;
    op->type = op->operand[0]->type;
    return true;
}

// The cotangent is wanted where the value is.
static void grad_shard(Func *f, const Op *op, Op *ct, Op *out[])
{
    out[0] = build_shard(f, ct, &op->sharding);
}

const OpInfo op_shard = {
    .name = "shard",
    .role = ROLE_wish,
    .noperand = 1,
    .attrs = {A_END},
    .infer = infer_same,
    .grad = grad_shard,
    .rule = rule_pointwise,
    .scalar = scalar_first,
};

const OpInfo op_reshard = {
    .name = "reshard",
    .role = ROLE_reshard,
    .noperand = 1,
    .attrs = {A_END},
    .infer = infer_same,
    .rule = rule_pointwise,
    .scalar = scalar_first,
};

static int64_t group_size(const Func *f, const Op *op)
{
    return split_pieces(&f->module->mesh, op_attr(op, A_axes)->split);
}

static bool infer_collective(const Func *f, Op *op, Diag *d)
{
    const Attr *in = op_attr(op, A_split_dim), *out = op_attr(op, A_concat_dim);
    const char *combine = op_str(op, A_combine);
    op->type = op->operand[0]->type;
    bool is_local = f->module->form == FORM_local;
    if (split_has_gap(op_attr(op, A_axes)->split) &&
        (is_local || op->code != OP_shard_slice))
        return op_fail(op, d, "axes with a gap");
    if ((in && !check_dim(op, A_split_dim, op->type.rank, d)) ||
        (out && !check_dim(op, A_concat_dim, op->type.rank, d)))
        return false;
    if (combine && strcmp(combine, "sum") != 0 && strcmp(combine, "max") != 0 &&
        strcmp(combine, "min") != 0)
        return op_fail(op, d, "no combiner is called %s", combine);
    if (!is_local)
        return true;
    int64_t n = group_size(f, op);
    if (in && op->type.dim[in->ints[0]] % n)
        return op_fail(op, d, "%ld entries on %ld devices",
                       (long)op->type.dim[in->ints[0]], (long)n);
    if (in)
        op->type.dim[in->ints[0]] /= n;
    if (out)
        op->type.dim[out->ints[0]] *= n;
    return true;
}

// --- what a collective does to a sharding ------------------------------------

static bool apply_gather(const Func *f, const Op *op, Sharding *out, Diag *d)
{
    const Split *axes = op_attr(op, A_axes)->split;
    int64_t dim = op_int(op, A_concat_dim, 0);
    *out = op->operand[0]->sharding;
    return split_take_out(&f->module->mesh, &out->dim[dim],
                          split_atoms(axes)) ||
           op_fail(op, d, "dimension %ld is not split by these axes",
                   (long)dim);
}

// Lets axes that are free split dimension split_dim further.
static bool put_in(const Op *op, Sharding *out, Diag *d)
{
    const Split *axes = op_attr(op, A_axes)->split;
    if (sharding_atoms(out, op->type.rank) & split_atoms(axes))
        return op_fail(op, d, "these axes split or combine the value already");
    split_append(&out->dim[op_int(op, A_split_dim, 0)], axes);
    return true;
}

static bool apply_slice(const Func *f, const Op *op, Sharding *out, Diag *d)
{
    (void)f;
    *out = op->operand[0]->sharding;
    return put_in(op, out, d);
}

static bool apply_all_to_all(const Func *f, const Op *op, Sharding *out,
                             Diag *d)
{
    return apply_gather(f, op, out, d) && put_in(op, out, d);
}

static bool apply_reduce(const Func *f, const Op *op, Sharding *out, Diag *d)
{
    (void)f;
    AtomSet atoms = split_atoms(op_attr(op, A_axes)->split);
    *out = op->operand[0]->sharding;
    if ((out->partial & atoms) != atoms ||
        strcmp(combiner_name[out->combiner], op_str(op, A_combine)) != 0)
        return op_fail(op, d, "the value is not pending over these axes");
    out->partial &= ~atoms;
    return true;
}

static bool apply_scatter(const Func *f, const Op *op, Sharding *out, Diag *d)
{
    return apply_reduce(f, op, out, d) && put_in(op, out, d);
}

static bool apply_permute(const Func *f, const Op *op, Sharding *out, Diag *d)
{
    (void)f;
    const Split *from = op_attr(op, A_from)->split;
    const Split *to = op_attr(op, A_to)->split;
    const Sharding *in = &op->operand[0]->sharding;
    *out = *in;
    for (int i = 0; i < op->type.rank; i++)
        for (int k = 0; k < in->dim[i].n; k++)
            for (int j = 0; j < from->n; j++)
                if (in->dim[i].item[k] == from->item[j])
                    out->dim[i].item[k] = to->item[j];
    AtomSet split = 0;
    for (int i = 0; i < op->type.rank; i++) {
        if (split & split_atoms(&out->dim[i]))
            return op_fail(op, d, "an axis would split two dimensions");
        split |= split_atoms(&out->dim[i]);
    }
    return !(split & in->partial) ||
           op_fail(op, d, "an axis would be both split and pending");
}

// --- what data goes where ----------------------------------------------------

// The device whose coordinates along `axes` are piece k, else those of `d`.
static int64_t member(const Mesh *m, const Split *axes, int64_t d, int64_t k)
{
    for (int i = axes->n - 1; i >= 0; i--) {
        const Atom *a = &m->atom[axes->item[i]];
        d += (k % a->size - mesh_coord(m, d, axes->item[i])) * a->stride;
        k /= a->size;
    }
    return d;
}

// The block view of a tensor around one dimension: [outer, size, inner].
typedef struct View {
    int64_t outer, size, inner;
} View;

static View view_at(const Type *t, int64_t dim)
{
    View v = {1, t->dim[dim], 1};
    for (int i = 0; i < t->rank; i++)
        *(i < dim ? &v.outer : &v.inner) *= i == dim ? 1 : t->dim[i];
    return v;
}

static void exchange_gather(const Func *f, const Op *op,
                            const double *const in[], double *const out[])
{
    const Mesh *m = &f->module->mesh;
    const Split *axes = op_attr(op, A_axes)->split;
    int64_t n = group_size(f, op);
    View v = view_at(&op->operand[0]->type, op_int(op, A_concat_dim, 0));
    int64_t chunk = v.size * v.inner;
    for (int64_t d = 0; d < m->ndevice; d++)
        for (int64_t k = 0; k < n; k++)
            for (int64_t o = 0; o < v.outer; o++)
                memcpy(out[d] + (o * n + k) * chunk,
                       in[member(m, axes, d, k)] + o * chunk,
                       sizeof(double) * (size_t)chunk);
}

static double combine(const Op *op, double a, double b)
{
    const char *how = op_str(op, A_combine);
    return how[0] == 's' ? a + b : how[1] == 'a' ? fmax(a, b) : fmin(a, b);
}

// The combination of entry i over the group of device d.
static double combined(const Func *f, const Op *op, const double *const in[],
                       int64_t d, int64_t i)
{
    const Mesh *m = &f->module->mesh;
    const Split *axes = op_attr(op, A_axes)->split;
    double x = in[member(m, axes, d, 0)][i];
    for (int64_t k = 1; k < group_size(f, op); k++)
        x = combine(op, x, in[member(m, axes, d, k)][i]);
    return x;
}

static void exchange_reduce(const Func *f, const Op *op,
                            const double *const in[], double *const out[])
{
    for (int64_t d = 0; d < f->module->mesh.ndevice; d++)
        for (int64_t i = 0; i < type_count(&op->type); i++)
            out[d][i] = combined(f, op, in, d, i);
}

static void exchange_scatter(const Func *f, const Op *op,
                             const double *const in[], double *const out[])
{
    const Mesh *m = &f->module->mesh;
    View v = view_at(&op->type, op_int(op, A_split_dim, 0));
    int64_t n = group_size(f, op), chunk = v.size * v.inner;
    for (int64_t d = 0; d < m->ndevice; d++) {
        int64_t k = split_piece(m, op_attr(op, A_axes)->split, d);
        for (int64_t i = 0; i < v.outer * chunk; i++)
            out[d][i] =
                combined(f, op, in, d, (i / chunk * n + k) * chunk + i % chunk);
    }
}

// Copies piece k of split_dim of src to where piece `to` of concat_dim is.
static void move_piece(const Op *op, int64_t n, const double *src, int64_t k,
                       double *dst, int64_t to)
{
    const Type *in = &op->operand[0]->type, *out = &op->type;
    int64_t from[MAX_RANK], into[MAX_RANK];
    int64_t split = op_int(op, A_split_dim, 0);
    int64_t concat = op_int(op, A_concat_dim, 0);
    Type block = *in;
    block.dim[split] /= n;
    type_strides(in, from);
    type_strides(out, into);
    src += k * block.dim[split] * from[split];
    dst += to * block.dim[concat] * into[concat];
    for (int64_t i = 0; i < type_count(&block); i++) {
        int64_t rest = i, a = 0, b = 0;
        for (int j = block.rank - 1; j >= 0; j--) {
            a += rest % block.dim[j] * from[j];
            b += rest % block.dim[j] * into[j];
            rest /= block.dim[j];
        }
        dst[b] = src[a];
    }
}

static void exchange_all_to_all(const Func *f, const Op *op,
                                const double *const in[], double *const out[])
{
    const Mesh *m = &f->module->mesh;
    const Split *axes = op_attr(op, A_axes)->split;
    int64_t n = group_size(f, op);
    for (int64_t d = 0; d < m->ndevice; d++)
        for (int64_t k = 0; k < n; k++)
            move_piece(op, n, in[member(m, axes, d, k)],
                       split_piece(m, axes, d), out[d], k);
}

static void exchange_permute(const Func *f, const Op *op,
                             const double *const in[], double *const out[])
{
    const Mesh *m = &f->module->mesh;
    const Split *from = op_attr(op, A_from)->split;
    const Split *to = op_attr(op, A_to)->split;
    for (int64_t d = 0; d < m->ndevice; d++)
        memcpy(out[d], in[member(m, from, d, split_piece(m, to, d))],
               sizeof(double) * (size_t)type_count(&op->type));
}

static void exchange_slice(const Func *f, const Op *op,
                           const double *const in[], double *const out[])
{
    const Mesh *m = &f->module->mesh;
    View v = view_at(&op->type, op_int(op, A_split_dim, 0));
    int64_t n = group_size(f, op), chunk = v.size * v.inner;
    for (int64_t d = 0; d < m->ndevice; d++) {
        int64_t k = split_piece(m, op_attr(op, A_axes)->split, d);
        for (int64_t o = 0; o < v.outer; o++)
            memcpy(out[d] + o * chunk, in[d] + (o * n + k) * chunk,
                   sizeof(double) * (size_t)chunk);
    }
}

// --- what it costs ----------------------------------------------------------

static double wire_gather(double bytes, double n)
{
    return bytes * (n - 1);
}

static double wire_once(double bytes, double n)
{
    return bytes * (n - 1) / n;
}

static double wire_twice(double bytes, double n)
{
    return 2 * bytes * (n - 1) / n;
}

static double wire_all(double bytes, double n)
{
    (void)n;
    return bytes;
}

const OpInfo op_all_gather = {
    .name = "all_gather",
    .role = ROLE_collective,
    .noperand = 1,
    .attrs = {A_axes, A_concat_dim, A_END},
    .infer = infer_collective,
    .apply = apply_gather,
    .exchange = exchange_gather,
    .wire = wire_gather,
};

const OpInfo op_reduce_scatter = {
    .name = "reduce_scatter",
    .role = ROLE_collective,
    .noperand = 1,
    .attrs = {A_axes, A_split_dim, A_combine, A_END},
    .infer = infer_collective,
    .apply = apply_scatter,
    .exchange = exchange_scatter,
    .wire = wire_once,
};

const OpInfo op_all_reduce = {
    .name = "all_reduce",
    .role = ROLE_collective,
    .noperand = 1,
    .attrs = {A_axes, A_combine, A_END},
    .infer = infer_collective,
    .apply = apply_reduce,
    .exchange = exchange_reduce,
    .wire = wire_twice,
};

const OpInfo op_all_to_all = {
    .name = "all_to_all",
    .role = ROLE_collective,
    .noperand = 1,
    .attrs = {A_axes, A_split_dim, A_concat_dim, A_END},
    .infer = infer_collective,
    .apply = apply_all_to_all,
    .exchange = exchange_all_to_all,
    .wire = wire_once,
};

static bool infer_permute(const Func *f, Op *op, Diag *d)
{
    const Mesh *m = &f->module->mesh;
    const Split *from = op_attr(op, A_from)->split;
    const Split *to = op_attr(op, A_to)->split;
    op->type = op->operand[0]->type;
    bool fits = from->n == to->n && !split_has_gap(from) && !split_has_gap(to);
    for (int i = 0; fits && i < from->n; i++)
        fits = m->atom[from->item[i]].size == m->atom[to->item[i]].size;
    return fits || op_fail(op, d, "from and to differ in size");
}

const OpInfo op_collective_permute = {
    .name = "collective_permute",
    .role = ROLE_collective,
    .noperand = 1,
    .attrs = {A_from, A_to, A_END},
    .infer = infer_permute,
    .apply = apply_permute,
    .exchange = exchange_permute,
    .wire = wire_all,
};

const OpInfo op_shard_slice = {
    .name = "shard_slice",
    .role = ROLE_collective,
    .noperand = 1,
    .attrs = {A_axes, A_split_dim, A_END},
    .infer = infer_collective,
    .apply = apply_slice,
    .exchange = exchange_slice,
};

// --- padding -----------------------------------------------------------------

static bool infer_mask(const Func *f, Op *op, Diag *d)
{
    op->type = op->operand[0]->type;
    if (f->module->form != FORM_local)
        return op_fail(op, d, "stands in form local only");
    return check_dim(op, A_dim, op->type.rank, d);
}

static void eval_mask(const Func *f, const Op *op, int64_t at,
                      const double *const in[], double *out)
{
    int64_t dim = op_int(op, A_dim, 0), size = op_int(op, A_size, 0);
    View v = view_at(&op->type, dim);
    int64_t start = op_offset(f, op, at, v.size);
    for (int64_t i = 0; i < type_count(&op->type); i++) {
        bool inside = start + i / v.inner % v.size < size;
        out[i] = inside ? in[0][i] : op_attr(op, A_value)->floats[0];
    }
}

const OpInfo op_mask = {
    .name = "mask",
    .noperand = 1,
    .attrs = {A_dim, A_size, A_offset, A_value, A_END},
    .infer = infer_mask,
    .rule = rule_pointwise,
    .eval = eval_mask,
};
