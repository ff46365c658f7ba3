// Ops that only move data: every result entry is an operand's entry, or zero.
#include <string.h>

#include "ir/build.h"
#include "op/util.h"

static bool infer_broadcast(const Func *f, Op *op, Diag *d)
{
    (void)f;
    const Type *in = &op->operand[0]->type;
    const Attr *dims = op_attr(op, A_dims);
    if (!check_dims(op, A_dims, op->type.rank, d))
        return false;
    if (dims->n != in->rank)
        return op_fail(op, d, "%d dims for an operand of rank %d", dims->n,
                       in->rank);
    for (int i = 0; i < in->rank; i++)
        if (in->dim[i] != op->type.dim[dims->ints[i]])
            return op_fail(op, d, "dimension %d is %ld, in the result %ld", i,
                           (long)in->dim[i], (long)op->type.dim[dims->ints[i]]);
    op->type.dtype = in->dtype;
    return true;
}

static void rule_broadcast(const Op *op, Rule *r)
{
    const Attr *dims = op_attr(op, A_dims);
    *r = (Rule){0};
    for (int i = 0; i < op->type.rank; i++) {
        rule_add(r, op->type.dim[i], FACTOR_PASS);
        rule_set(r, 1, i, i);
    }
    for (int i = 0; i < dims->n; i++)
        rule_set(r, 0, i, (int)dims->ints[i]);
}

// The sum over the new dimensions. Of bf16 it is in f32 and then rounded, so
// that who wants it in f32 can have it (the gradient of a weight).
static void grad_broadcast(Func *f, const Op *op, Op *ct, Op *out[])
{
    const Attr *dims = op_attr(op, A_dims);
    int64_t new[MAX_RANK], order[MAX_RANK];
    int n = 0;
    bool is_moved = false;
    for (int i = 0; i < op->type.rank; i++)
        if (!ints_have(dims, i))
            new[n++] = i;
    for (int i = 0; i < dims->n; i++) {
        order[i] = 0;
        for (int k = 0; k < dims->n; k++)
            order[i] += dims->ints[k] < dims->ints[i];
        is_moved |= order[i] != i;
    }
    Op *sum = n ? build_convert(f, ct, DT_f32) : ct;
    sum = build_reduce(f, OP_reduce_sum, sum, n, new);
    sum = build_convert(f, sum, op->type.dtype);
    out[0] = is_moved ? build_transpose(f, sum, order) : sum;
}

const OpInfo op_broadcast = {
    .name = "broadcast",
    .noperand = 1,
    .attrs = {A_dims, A_END},
    .linear = LINEAR_ALL,
    .infer = infer_broadcast,
    .grad = grad_broadcast,
    .rule = rule_broadcast,
    .scalar = scalar_first,
};

static bool infer_transpose(const Func *f, Op *op, Diag *d)
{
    (void)f;
    const Type *in = &op->operand[0]->type;
    const Attr *dims = op_attr(op, A_dims);
    if (!check_dims(op, A_dims, in->rank, d))
        return false;
    if (dims->n != in->rank)
        return op_fail(op, d, "%d dims for rank %d", dims->n, in->rank);
    op->type = *in;
    for (int i = 0; i < in->rank; i++)
        op->type.dim[i] = in->dim[dims->ints[i]];
    return true;
}

static void rule_transpose(const Op *op, Rule *r)
{
    const Attr *dims = op_attr(op, A_dims);
    *r = (Rule){0};
    for (int i = 0; i < op->type.rank; i++) {
        rule_add(r, op->type.dim[i], FACTOR_PASS);
        rule_set(r, 1, i, i);
        rule_set(r, 0, (int)dims->ints[i], i);
    }
}

static void grad_transpose(Func *f, const Op *op, Op *ct, Op *out[])
{
    int64_t back[MAX_RANK];
    for (int i = 0; i < op->type.rank; i++)
        back[op_attr(op, A_dims)->ints[i]] = i;
    out[0] = build_transpose(f, ct, back);
}

const OpInfo op_transpose = {
    .name = "transpose",
    .noperand = 1,
    .attrs = {A_dims, A_END},
    .linear = LINEAR_ALL,
    .infer = infer_transpose,
    .grad = grad_transpose,
    .rule = rule_transpose,
    .scalar = scalar_first,
};

static bool infer_slice(const Func *f, Op *op, Diag *d)
{
    (void)f;
    const Type *in = &op->operand[0]->type;
    const Attr *lo = op_attr(op, A_starts), *hi = op_attr(op, A_limits);
    if (lo->n != in->rank || hi->n != in->rank)
        return op_fail(op, d, "wants %d starts and limits", in->rank);
    op->type = *in;
    for (int i = 0; i < in->rank; i++) {
        if (lo->ints[i] < 0 || hi->ints[i] < lo->ints[i] ||
            hi->ints[i] > in->dim[i])
            return op_fail(op, d, "%ld : %ld is outside dimension %d of %ld",
                           (long)lo->ints[i], (long)hi->ints[i], i,
                           (long)in->dim[i]);
        op->type.dim[i] = hi->ints[i] - lo->ints[i];
    }
    return true;
}

// Dimension i of the operand and of the result: one factor if it is kept as it
// is, else two that must be whole.
static void rule_kept(Rule *r, const Op *op, int i, bool kept)
{
    int64_t in = op->operand[0]->type.dim[i], out = op->type.dim[i];
    int f = rule_add(r, in, kept ? FACTOR_PASS : FACTOR_WHOLE);
    rule_set(r, 0, i, f);
    rule_set(r, op->noperand, i, kept ? f : rule_add(r, out, FACTOR_WHOLE));
}

static void rule_slice(const Op *op, Rule *r)
{
    *r = (Rule){0};
    for (int i = 0; i < op->type.rank; i++)
        rule_kept(r, op, i, op->type.dim[i] == op->operand[0]->type.dim[i]);
}

// A dimension that is kept whole has the local size for its limit.
static void localize_slice(Func *f, Op *op)
{
    const Attr *lo = op_attr(op, A_starts);
    int64_t hi[MAX_RANK];
    for (int i = 0; i < op->type.rank; i++)
        hi[i] = lo->ints[i] + op->type.dim[i];
    op_set_ints(f, op, A_limits, op->type.rank, hi);
}

// Copies the block of `shape` at `from` in src to `to` in dst.
static void copy_block(int rank, const int64_t shape[], const double *src,
                       const int64_t src_stride[], double *dst,
                       const int64_t dst_stride[])
{
    if (rank == 0) {
        *dst = *src;
        return;
    }
    for (int64_t i = 0; i < shape[0]; i++)
        copy_block(rank - 1, shape + 1, src + i * src_stride[0], src_stride + 1,
                   dst + i * dst_stride[0], dst_stride + 1);
}

static void eval_slice(const Func *f, const Op *op, int64_t at,
                       const double *const in[], double *out)
{
    (void)f, (void)at;
    int64_t from[MAX_RANK], to[MAX_RANK], start = 0;
    type_strides(&op->operand[0]->type, from);
    type_strides(&op->type, to);
    for (int i = 0; i < op->type.rank; i++)
        start += op_attr(op, A_starts)->ints[i] * from[i];
    copy_block(op->type.rank, op->type.dim, in[0] + start, from, out, to);
}

static void grad_slice(Func *f, const Op *op, Op *ct, Op *out[])
{
    const Attr *lo = op_attr(op, A_starts), *hi = op_attr(op, A_limits);
    const Type *in = &op->operand[0]->type;
    for (int i = 0; i < in->rank; i++)
        if (op->type.dim[i] != in->dim[i])
            ct = build_pad(f, ct, i, lo->ints[i], in->dim[i] - hi->ints[i]);
    out[0] = ct;
}

const OpInfo op_slice = {
    .name = "slice",
    .noperand = 1,
    .attrs = {A_starts, A_limits, A_END},
    .linear = LINEAR_ALL,
    .infer = infer_slice,
    .grad = grad_slice,
    .rule = rule_slice,
    .localize = localize_slice,
    .eval = eval_slice,
};

static bool infer_pad(const Func *f, Op *op, Diag *d)
{
    (void)f;
    int64_t low = op_int(op, A_low, 0), high = op_int(op, A_high, 0);
    op->type = op->operand[0]->type;
    if (!check_dim(op, A_dim, op->type.rank, d))
        return false;
    if (low < 0 || low > (int64_t)1 << 40)
        return op_fail(op, d, "low=%ld", (long)low);
    if (high < 0 || high > (int64_t)1 << 40)
        return op_fail(op, d, "high=%ld", (long)high);
    op->type.dim[op_int(op, A_dim, 0)] += low + high;
    return true;
}

static void rule_pad(const Op *op, Rule *r)
{
    *r = (Rule){0};
    for (int i = 0; i < op->type.rank; i++)
        rule_kept(r, op, i, i != op_int(op, A_dim, 0));
}

static void eval_pad(const Func *f, const Op *op, int64_t at,
                     const double *const in[], double *out)
{
    (void)f, (void)at;
    int64_t from[MAX_RANK], to[MAX_RANK];
    const Type *type = &op->operand[0]->type;
    type_strides(type, from);
    type_strides(&op->type, to);
    memset(out, 0, sizeof *out * (size_t)type_count(&op->type));
    out += op_int(op, A_low, 0) * to[op_int(op, A_dim, 0)];
    copy_block(type->rank, type->dim, in[0], from, out, to);
}

// The block of `ct` that starts at `at` in dimension dim and has x's shape.
static Op *cut(Func *f, Op *ct, const Op *x, int64_t dim, int64_t at)
{
    int64_t lo[MAX_RANK] = {0}, hi[MAX_RANK];
    lo[dim] = at;
    for (int i = 0; i < x->type.rank; i++)
        hi[i] = lo[i] + x->type.dim[i];
    return build_slice(f, ct, lo, hi);
}

static void grad_pad(Func *f, const Op *op, Op *ct, Op *out[])
{
    out[0] =
        cut(f, ct, op->operand[0], op_int(op, A_dim, 0), op_int(op, A_low, 0));
}

const OpInfo op_pad = {
    .name = "pad",
    .noperand = 1,
    .attrs = {A_dim, A_high, A_END},
    .linear = LINEAR_ALL,
    .infer = infer_pad,
    .grad = grad_pad,
    .rule = rule_pad,
    .eval = eval_pad,
};

static bool infer_concat(const Func *f, Op *op, Diag *d)
{
    (void)f;
    if (op->noperand < 1 || op->noperand >= MAX_TENSORS)
        return op_fail(op, d, "wants 1 to %d operands", MAX_TENSORS - 1);
    int64_t dim = op_int(op, A_dim, 0);
    op->type = op->operand[0]->type;
    if (!check_dim(op, A_dim, op->type.rank, d))
        return false;
    for (int t = 1; t < op->noperand; t++) {
        Type more = op->operand[t]->type;
        if (more.rank != op->type.rank)
            return op_fail(op, d, "operands differ in rank");
        int64_t size = more.dim[dim];
        more.dim[dim] = op->type.dim[dim];
        if (!type_equal(&more, &op->type))
            return op_fail(op, d, "operand %d differs in another dimension", t);
        op->type.dim[dim] += size;
    }
    return true;
}

// The operand that is all of the result, the others being empty; -1 if none.
static int only_operand(const Op *op, int64_t dim)
{
    for (int t = 0; t < op->noperand; t++)
        if (op->operand[t]->type.dim[dim] == op->type.dim[dim])
            return t;
    return -1;
}

// The concatenated dimension is whole in each tensor, unless one operand is
// all of it.
static void rule_concat(const Op *op, Rule *r)
{
    int64_t dim = op_int(op, A_dim, 0);
    int only = only_operand(op, dim);
    *r = (Rule){0};
    for (int i = 0; i < op->type.rank; i++) {
        int f = -1;
        if (i != dim || only >= 0)
            f = rule_add(r, op->type.dim[i], FACTOR_PASS);
        for (int t = 0; t <= op->noperand; t++) {
            bool is_result = t == op->noperand;
            const Type *type = is_result ? &op->type : &op->operand[t]->type;
            bool own = i == dim && (f < 0 || (t != only && !is_result));
            rule_set(r, t, i,
                     own ? rule_add(r, type->dim[i], FACTOR_WHOLE) : f);
        }
    }
}

static void eval_concat(const Func *f, const Op *op, int64_t at,
                        const double *const in[], double *out)
{
    (void)f, (void)at;
    int64_t from[MAX_RANK], to[MAX_RANK];
    int64_t dim = op_int(op, A_dim, 0);
    type_strides(&op->type, to);
    for (int t = 0; t < op->noperand; t++) {
        const Type *type = &op->operand[t]->type;
        type_strides(type, from);
        copy_block(type->rank, type->dim, in[t], from, out, to);
        out += type->dim[dim] * to[dim];
    }
}

static void grad_concat(Func *f, const Op *op, Op *ct, Op *out[])
{
    int64_t dim = op_int(op, A_dim, 0), at = 0;
    for (int t = 0; t < op->noperand; t++) {
        out[t] = cut(f, ct, op->operand[t], dim, at);
        at += op->operand[t]->type.dim[dim];
    }
}

const OpInfo op_concat = {
    .name = "concat",
    .noperand = -1,
    .attrs = {A_dim, A_END},
    .linear = LINEAR_ALL,
    .infer = infer_concat,
    .grad = grad_concat,
    .rule = rule_concat,
    .eval = eval_concat,
};
