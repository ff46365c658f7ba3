// Ops without operands.
#include "op/util.h"

static bool infer_given(const Func *f, Op *op, Diag *d)
{
    (void)f, (void)op, (void)d;
    return true;
}

const OpInfo op_param = {
    .name = "param",
    .role = ROLE_argument,
    .noperand = 0,
    .attrs = {A_END},
    .infer = infer_given,
    .rule = rule_pointwise,
};

static bool is_splat(const Op *op)
{
    return op_attr(op, A_value)->n == 1;
}

static bool infer_constant(const Func *f, Op *op, Diag *d)
{
    (void)f;
    int n = op_attr(op, A_value)->n;
    return is_splat(op) || n == type_count(&op->type) ||
           op_fail(op, d, "%d values for %ld elements", n,
                   (long)type_count(&op->type));
}

// One number for all may be made anywhere; a table is made whole.
static void rule_constant(const Op *op, Rule *r)
{
    rule_pointwise(op, r);
    for (int i = 0; i < r->nfactor && !is_splat(op); i++)
        r->kind[i] = FACTOR_WHOLE;
}

static void eval_constant(const Func *f, const Op *op, int64_t at,
                          const double *const in[], double *out)
{
    (void)f, (void)at, (void)in;
    const Attr *value = op_attr(op, A_value);
    for (int64_t i = 0; i < type_count(&op->type); i++)
        out[i] = value->floats[is_splat(op) ? 0 : i];
}

const OpInfo op_constant = {
    .name = "constant",
    .noperand = 0,
    .attrs = {A_value, A_END},
    .infer = infer_constant,
    .rule = rule_constant,
    .eval = eval_constant,
};

static bool infer_iota(const Func *f, Op *op, Diag *d)
{
    (void)f;
    if (op->type.dtype == DT_bool)
        return op_fail(op, d, "wants numbers");
    return check_dim(op, A_dim, op->type.rank, d);
}

static void rule_iota(const Op *op, Rule *r)
{
    rule_pointwise(op, r);
    r->kind[op_int(op, A_dim, 0)] = FACTOR_POSITION;
}

static void eval_iota(const Func *f, const Op *op, int64_t at,
                      const double *const in[], double *out)
{
    (void)in;
    int64_t stride[MAX_RANK];
    int dim = (int)op_int(op, A_dim, 0);
    int64_t start = op_offset(f, op, at, op->type.dim[dim]);
    type_strides(&op->type, stride);
    for (int64_t i = 0; i < type_count(&op->type); i++)
        out[i] = (double)(start + i / stride[dim] % op->type.dim[dim]);
}

const OpInfo op_iota = {
    .name = "iota",
    .noperand = 0,
    .attrs = {A_dim, A_END},
    .infer = infer_iota,
    .rule = rule_iota,
    .eval = eval_iota,
};
