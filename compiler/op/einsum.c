// Products summed over shared indices, and reductions.
#include <string.h>

#include "ir/build.h"
#include "op/util.h"

// Letters of tensor t of "ab,bc->ac": start and length in the spec.
static const char *spec_part(const char *spec, int t, int *n)
{
    for (int i = 0; i < t; i++)
        spec += strcspn(spec, ",-"), spec += *spec == ',' ? 1 : 2;
    *n = (int)strcspn(spec, ",-");
    return spec;
}

static bool is_spec(const char *s)
{
    s += strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ,");
    return s[0] == '-' && s[1] == '>' &&
           s[2 + strspn(s + 2, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRST"
                               "UVWXYZ")] == '\0';
}

static bool repeats(const char *part, int n)
{
    for (int i = 0; i < n; i++)
        if (memchr(part + i + 1, part[i], (size_t)(n - i - 1)))
            return true;
    return false;
}

// Notes the sizes of an operand's letters; reports where they disagree.
static bool collect_sizes(const Op *op, int t, int64_t size[128], Diag *d)
{
    int n;
    const char *part = spec_part(op_str(op, A_spec), t, &n);
    const Type *type = &op->operand[t]->type;
    if (n != type->rank || repeats(part, n))
        return op_fail(op, d, "%.*s does not fit operand %d of rank %d", n,
                       part, t, type->rank);
    for (int i = 0; i < n; i++) {
        int64_t *s = &size[(unsigned char)part[i]];
        if (*s >= 0 && *s != type->dim[i])
            return op_fail(op, d, "%c is %ld and %ld", part[i], (long)*s,
                           (long)type->dim[i]);
        *s = type->dim[i];
    }
    return true;
}

static bool infer_einsum(const Func *f, Op *op, Diag *d)
{
    (void)f;
    const char *spec = op_str(op, A_spec);
    int64_t size[128];
    int n;
    memset(size, -1, sizeof size);
    if (!is_spec(spec) || strlen(spec) > MAX_FACTORS + 3u ||
        strchr(spec, ',') != strrchr(spec, ',') || !strchr(spec, ','))
        return op_fail(op, d, "\"%s\" is no spec of two operands", spec);
    if (!collect_sizes(op, 0, size, d) || !collect_sizes(op, 1, size, d))
        return false;
    if (op->operand[0]->type.dtype != op->operand[1]->type.dtype)
        return op_fail(op, d, "operands differ in type");
    if (op->operand[0]->type.dtype == DT_bool)
        return op_fail(op, d, "wants numbers");
    const char *out = spec_part(spec, 2, &n);
    const char *dtype = op_str(op, A_dtype);
    DType in = op->operand[0]->type.dtype;
    bool is_wide = dtype && strcmp(dtype, "f32") == 0;
    if (dtype && !is_wide && (strcmp(dtype, "bf16") != 0 || in != DT_bf16))
        return op_fail(op, d, "dtype can only be f32, or bf16 of bf16");
    if (dtype && !dtype_is_float(in))
        return op_fail(op, d, "dtype wants float operands");
    op->type.dtype = is_wide ? DT_f32 : in;
    op->type.rank = 0;
    if (n > MAX_RANK || repeats(out, n))
        return op_fail(op, d, "\"%s\": bad result", spec);
    for (int i = 0; i < n; i++) {
        if (size[(unsigned char)out[i]] < 0)
            return op_fail(op, d, "no operand has %c", out[i]);
        op->type.dim[op->type.rank++] = size[(unsigned char)out[i]];
    }
    return true;
}

static void rule_einsum(const Op *op, Rule *r)
{
    const char *spec = op_str(op, A_spec);
    int factor[128], n;
    memset(factor, -1, sizeof factor);
    *r = (Rule){0};
    for (int t = 0; t < 3; t++) {
        const char *part = spec_part(spec, t, &n);
        for (int i = 0; i < n; i++) {
            int *of = &factor[(unsigned char)part[i]];
            if (*of < 0)
                *of = rule_add(r, op->operand[t]->type.dim[i], FACTOR_REDUCE);
            rule_set(r, t, i, *of);
            if (t == 2)
                r->kind[*of] = FACTOR_PASS;
        }
    }
}

static double scalar_product(const Op *op, const double x[])
{
    (void)op;
    return x[0] * x[1];
}

// The cotangent of operand t: a product of that of the result and of the other
// operand. Letters that t alone has were summed, so they are spread.
//   ab,bc->ac   a: ac,bc->ab      abd,bc->ac   a: ac,bc->ab, spread over d
static Op *grad_factor(Func *f, const Op *op, int t, Op *ct)
{
    const char *spec = op_str(op, A_spec);
    int nown, nother, nresult, n = 0;
    const char *own = spec_part(spec, t, &nown);
    const char *other = spec_part(spec, 1 - t, &nother);
    const char *result = spec_part(spec, 2, &nresult);
    char shared[MAX_RANK];
    int64_t dims[MAX_RANK];
    for (int i = 0; i < nown; i++) {
        if (memchr(other, own[i], (size_t)nother) ||
            memchr(result, own[i], (size_t)nresult)) {
            dims[n] = i;
            shared[n++] = own[i];
        }
    }
    const char *back = arena_printf(f->module->arena, "%.*s,%.*s->%.*s",
                                    nresult, result, nother, other, n, shared);
    Op *g = build_einsum(f, back, ct, op->operand[1 - t], NULL);
    return n == nown ? g : build_broadcast(f, g, &op->operand[t]->type, dims);
}

// An f32 cotangent of bf16 operands is rounded to bf16, as the operand that it
// meets was: that keeps the accuracy that they have, the sums are in f32, and
// the product is one of bf16, which is twice as fast.
static void grad_einsum(Func *f, const Op *op, Op *ct, Op *out[])
{
    ct = build_convert(f, ct, op->operand[0]->type.dtype);
    out[0] = grad_factor(f, op, 0, ct);
    out[1] = grad_factor(f, op, 1, ct);
}

const OpInfo op_einsum = {
    .name = "einsum",
    .noperand = 2,
    .attrs = {A_spec, A_END},
    .linear = LINEAR_ANY,
    .widens = true,
    .infer = infer_einsum,
    .grad = grad_einsum,
    .rule = rule_einsum,
    .scalar = scalar_product,
};

static bool infer_reduce(const Func *f, Op *op, Diag *d)
{
    (void)f;
    const Type *in = &op->operand[0]->type;
    if (!check_dims(op, A_dims, in->rank, d))
        return false;
    if (in->dtype == DT_bool)
        return op_fail(op, d, "wants numbers");
    op->type = (Type){.dtype = in->dtype};
    for (int i = 0; i < in->rank; i++)
        if (!ints_have(op_attr(op, A_dims), i))
            op->type.dim[op->type.rank++] = in->dim[i];
    return true;
}

static void rule_reduce(const Op *op, Rule *r, Combiner combiner)
{
    const Type *in = &op->operand[0]->type;
    int out = 0;
    *r = (Rule){.combiner = combiner};
    for (int i = 0; i < in->rank; i++) {
        bool gone = ints_have(op_attr(op, A_dims), i);
        rule_add(r, in->dim[i], gone ? FACTOR_REDUCE : FACTOR_PASS);
        rule_set(r, 0, i, i);
        if (!gone)
            rule_set(r, 1, out++, i);
    }
}

static void rule_sum(const Op *op, Rule *r)
{
    rule_reduce(op, r, COMBINE_sum);
}

static void rule_max(const Op *op, Rule *r)
{
    rule_reduce(op, r, COMBINE_max);
}

static void rule_min(const Op *op, Rule *r)
{
    rule_reduce(op, r, COMBINE_min);
}

// A value of the result's shape, at all places that were reduced to it.
static Op *spread(Func *f, const Op *op, Op *x)
{
    const Type *in = &op->operand[0]->type;
    int64_t kept[MAX_RANK];
    for (int i = 0, n = 0; i < in->rank; i++)
        if (!ints_have(op_attr(op, A_dims), i))
            kept[n++] = i;
    return build_broadcast(f, x, in, kept);
}

static void grad_sum(Func *f, const Op *op, Op *ct, Op *out[])
{
    out[0] = spread(f, op, ct);
}

// Equals share the cotangent; they are counted in f32, which bf16 cannot.
static void grad_extreme(Func *f, const Op *op, Op *ct, Op *out[])
{
    const Attr *dims = op_attr(op, A_dims);
    Op *x = op->operand[0];
    Op *is_best = build_compare(f, "eq", x, spread(f, op, op_value(op)));
    Op *count =
        build_reduce(f, OP_reduce_sum, build_convert(f, is_best, DT_f32),
                     dims->n, dims->ints);
    Op *share = build_binary(f, OP_divide, build_convert(f, ct, DT_f32), count);
    share = spread(f, op, build_convert(f, share, x->type.dtype));
    out[0] = build_select(f, is_best, share, build_like(f, x, 0));
}

const OpInfo op_reduce_sum = {
    .name = "reduce_sum",
    .noperand = 1,
    .attrs = {A_dims, A_END},
    .linear = LINEAR_ALL,
    .infer = infer_reduce,
    .grad = grad_sum,
    .rule = rule_sum,
    .scalar = scalar_first,
};

const OpInfo op_reduce_max = {
    .name = "reduce_max",
    .noperand = 1,
    .attrs = {A_dims, A_END},
    .infer = infer_reduce,
    .grad = grad_extreme,
    .rule = rule_max,
    .scalar = scalar_first,
};

const OpInfo op_reduce_min = {
    .name = "reduce_min",
    .noperand = 1,
    .attrs = {A_dims, A_END},
    .infer = infer_reduce,
    .grad = grad_extreme,
    .rule = rule_min,
    .scalar = scalar_first,
};

static bool infer_cumsum(const Func *f, Op *op, Diag *d)
{
    (void)f;
    op->type = op->operand[0]->type;
    if (op->type.dtype == DT_bool)
        return op_fail(op, d, "wants numbers");
    return check_dim(op, A_dim, op->type.rank, d);
}

static void rule_cumsum(const Op *op, Rule *r)
{
    rule_pointwise(op, r);
    r->kind[op_int(op, A_dim, 0)] = FACTOR_WHOLE;
}

static void eval_cumsum(const Func *f, const Op *op, int64_t at,
                        const double *const in[], double *out)
{
    (void)f, (void)at;
    int64_t stride[MAX_RANK], n = type_count(&op->type);
    int dim = (int)op_int(op, A_dim, 0);
    bool is_reverse = op_int(op, A_reverse, 0) != 0;
    type_strides(&op->type, stride);
    int64_t back = is_reverse ? -stride[dim] : stride[dim];
    for (int64_t k = 0; k < n; k++) {
        int64_t i = is_reverse ? n - 1 - k : k;
        int64_t along = i / stride[dim] % op->type.dim[dim];
        bool first = along == (is_reverse ? op->type.dim[dim] - 1 : 0);
        out[i] = in[0][i] + (first ? 0 : out[i - back]);
    }
}

// Each entry is in the sums from its place on: they are summed from the end.
static void grad_cumsum(Func *f, const Op *op, Op *ct, Op *out[])
{
    out[0] = build_cumsum(f, ct, (int)op_int(op, A_dim, 0),
                          !op_int(op, A_reverse, 0));
}

const OpInfo op_cumsum = {
    .name = "cumsum",
    .noperand = 1,
    .attrs = {A_dim, A_END},
    .linear = LINEAR_ALL,
    .infer = infer_cumsum,
    .grad = grad_cumsum,
    .rule = rule_cumsum,
    .eval = eval_cumsum,
};
