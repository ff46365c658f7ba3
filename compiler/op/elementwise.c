// Elementwise ops: each result entry is a scalar function of the operands'
// entries at the same place.
//
// Gradients read the result where it says what they want (exp, tanh): it is
// there, or can be saved, and costs nothing to compute.
#include <math.h>

#include "ir/build.h"
#include "op/util.h"

static bool infer_float(const Func *f, Op *op, Diag *d)
{
    (void)f;
    if (!check_same_types(op, d))
        return false;
    op->type = op->operand[0]->type;
    return dtype_is_float(op->type.dtype) ||
           op_fail(op, d, "wants a float type");
}

static bool infer_number(const Func *f, Op *op, Diag *d)
{
    (void)f;
    if (!check_same_types(op, d))
        return false;
    op->type = op->operand[0]->type;
    return op->type.dtype != DT_bool || op_fail(op, d, "wants numbers");
}

static bool infer_bool(const Func *f, Op *op, Diag *d)
{
    (void)f;
    if (!check_same_types(op, d))
        return false;
    op->type = op->operand[0]->type;
    return op->type.dtype == DT_bool || op_fail(op, d, "wants bool");
}

#define UNARY(op_name, how, lin, gradient, expr)                               \
    static double scalar_##op_name(const Op *op, const double x[])             \
    {                                                                          \
        (void)op;                                                              \
        return expr;                                                           \
    }                                                                          \
    const OpInfo op_##op_name = {                                              \
        .name = #op_name,                                                      \
        .noperand = 1,                                                         \
        .attrs = {A_END},                                                      \
        .linear = lin,                                                         \
        .infer = how,                                                          \
        .grad = gradient,                                                      \
        .rule = rule_pointwise,                                                \
        .scalar = scalar_##op_name,                                            \
    };

static Op *times(Func *f, Op *x, Op *y)
{
    return build_binary(f, OP_multiply, x, y);
}

static Op *over(Func *f, Op *x, Op *y)
{
    return build_binary(f, OP_divide, x, y);
}

static Op *neg(Func *f, Op *x)
{
    return build_unary(f, OP_neg, x);
}

// 1 - x
static Op *rest(Func *f, Op *x)
{
    return build_binary(f, OP_subtract, build_like(f, x, 1), x);
}

static void grad_neg(Func *f, const Op *op, Op *ct, Op *out[])
{
    (void)op;
    out[0] = neg(f, ct);
}

// 0 at 0.
static void grad_abs(Func *f, const Op *op, Op *ct, Op *out[])
{
    Op *x = op->operand[0], *zero = build_like(f, x, 0);
    Op *below =
        build_select(f, build_compare(f, "lt", x, zero), neg(f, ct), zero);
    out[0] = build_select(f, build_compare(f, "gt", x, zero), ct, below);
}

static void grad_exp(Func *f, const Op *op, Op *ct, Op *out[])
{
    out[0] = times(f, ct, op_value(op));
}

static void grad_log(Func *f, const Op *op, Op *ct, Op *out[])
{
    out[0] = over(f, ct, op->operand[0]);
}

static void grad_sqrt(Func *f, const Op *op, Op *ct, Op *out[])
{
    out[0] = over(f, build_scale(f, ct, 0.5), op_value(op));
}

// -x^(-3/2) / 2
static void grad_rsqrt(Func *f, const Op *op, Op *ct, Op *out[])
{
    Op *slope = over(f, op_value(op), op->operand[0]);
    out[0] = times(f, ct, build_scale(f, slope, -0.5));
}

static void grad_sin(Func *f, const Op *op, Op *ct, Op *out[])
{
    out[0] = times(f, ct, build_unary(f, OP_cos, op->operand[0]));
}

static void grad_cos(Func *f, const Op *op, Op *ct, Op *out[])
{
    out[0] = neg(f, times(f, ct, build_unary(f, OP_sin, op->operand[0])));
}

// (1 + y) (1 - y), which is more exact near 1 than 1 - y^2.
static void grad_tanh(Func *f, const Op *op, Op *ct, Op *out[])
{
    Op *y = op_value(op);
    Op *more = build_binary(f, OP_add, ct, times(f, ct, y));
    out[0] = times(f, more, rest(f, y));
}

static void grad_logistic(Func *f, const Op *op, Op *ct, Op *out[])
{
    Op *y = op_value(op);
    out[0] = times(f, times(f, ct, y), rest(f, y));
}

UNARY(neg, infer_number, LINEAR_ALL, grad_neg, -x[0])
UNARY(abs, infer_number, LINEAR_NO, grad_abs, fabs(x[0]))
UNARY(exp, infer_float, LINEAR_NO, grad_exp, exp(x[0]))
UNARY(log, infer_float, LINEAR_NO, grad_log, log(x[0]))
UNARY(sqrt, infer_float, LINEAR_NO, grad_sqrt, sqrt(x[0]))
UNARY(rsqrt, infer_float, LINEAR_NO, grad_rsqrt, 1 / sqrt(x[0]))
UNARY(sin, infer_float, LINEAR_NO, grad_sin, sin(x[0]))
UNARY(cos, infer_float, LINEAR_NO, grad_cos, cos(x[0]))
UNARY(tanh, infer_float, LINEAR_NO, grad_tanh, tanh(x[0]))
UNARY(logistic, infer_float, LINEAR_NO, grad_logistic, 1 / (1 + exp(-x[0])))
UNARY(floor, infer_float, LINEAR_NO, NULL, floor(x[0]))
UNARY(ceil, infer_float, LINEAR_NO, NULL, ceil(x[0]))
UNARY(not, infer_bool, LINEAR_NO, NULL, x[0] == 0)

#define BINARY(op_name, how, lin, gradient, expr)                              \
    static double scalar_##op_name(const Op *op, const double x[])             \
    {                                                                          \
        (void)op;                                                              \
        return expr;                                                           \
    }                                                                          \
    const OpInfo op_##op_name = {                                              \
        .name = #op_name,                                                      \
        .noperand = 2,                                                         \
        .attrs = {A_END},                                                      \
        .linear = lin,                                                         \
        .infer = how,                                                          \
        .grad = gradient,                                                      \
        .rule = rule_pointwise,                                                \
        .scalar = scalar_##op_name,                                            \
    };

// As StableHLO has it: a NaN operand gives NaN.
static double maximum(double a, double b)
{
    return isnan(a) || isnan(b) ? NAN : a > b ? a : b;
}

static double minimum(double a, double b)
{
    return isnan(a) || isnan(b) ? NAN : a < b ? a : b;
}

// The quotient; of integers truncated, and -1 for a zero divisor.
static double quotient(const Op *op, double a, double b)
{
    if (op->type.dtype != DT_i32)
        return a / b;
    return b == 0 ? -1 : trunc(a / b);
}

static void grad_add(Func *f, const Op *op, Op *ct, Op *out[])
{
    (void)f, (void)op;
    out[0] = out[1] = ct;
}

static void grad_subtract(Func *f, const Op *op, Op *ct, Op *out[])
{
    (void)op;
    out[0] = ct;
    out[1] = neg(f, ct);
}

static void grad_multiply(Func *f, const Op *op, Op *ct, Op *out[])
{
    out[0] = times(f, ct, op->operand[1]);
    out[1] = times(f, ct, op->operand[0]);
}

static void grad_divide(Func *f, const Op *op, Op *ct, Op *out[])
{
    out[0] = over(f, ct, op->operand[1]);
    out[1] = neg(f, times(f, out[0], op_value(op)));
}

// y - 1; 1 for 0, where y x^(y-1) is 0 even at x = 0.
static Op *one_less(Func *f, Op *y)
{
    const Attr *value = op_attr(y, A_value);
    Op *one = build_like(f, y, 1);
    if (value && value->n == 1 && value->floats[0] != 0)
        return build_like(f, y, value->floats[0] - 1);
    Op *is_zero = build_compare(f, "eq", y, build_like(f, y, 0));
    return build_select(f, is_zero, one, build_binary(f, OP_subtract, y, one));
}

// By the exponent: x^y log x, and 0 at x = 0.
static void grad_power(Func *f, const Op *op, Op *ct, Op *out[])
{
    Op *x = op->operand[0], *y = op->operand[1];
    Op *lower = build_binary(f, OP_power, x, one_less(f, y));
    Op *is_zero = build_compare(f, "eq", x, build_like(f, x, 0));
    Op *safe = build_select(f, is_zero, build_like(f, x, 1), x);
    Op *log = build_unary(f, OP_log, safe);
    out[0] = times(f, times(f, ct, y), lower);
    out[1] = times(f, times(f, ct, op_value(op)), log);
}

// The operand that is chosen has it all; of equals each has half.
static void grad_chosen(Func *f, const Op *op, const char *wins, Op *ct,
                        Op *out[])
{
    Op *x = op->operand[0], *y = op->operand[1];
    Op *tie = build_select(f, build_compare(f, "eq", x, y),
                           build_scale(f, ct, 0.5), build_like(f, ct, 0));
    out[0] = build_select(f, build_compare(f, wins, x, y), ct, tie);
    out[1] = build_select(f, build_compare(f, wins, y, x), ct, tie);
}

static void grad_maximum(Func *f, const Op *op, Op *ct, Op *out[])
{
    grad_chosen(f, op, "gt", ct, out);
}

static void grad_minimum(Func *f, const Op *op, Op *ct, Op *out[])
{
    grad_chosen(f, op, "lt", ct, out);
}

BINARY(add, infer_number, LINEAR_ALL, grad_add, x[0] + x[1])
BINARY(subtract, infer_number, LINEAR_ALL, grad_subtract, x[0] - x[1])
BINARY(multiply, infer_number, LINEAR_ANY, grad_multiply, x[0] * x[1])
BINARY(divide, infer_number, LINEAR_NO, grad_divide, quotient(op, x[0], x[1]))
BINARY(power, infer_float, LINEAR_NO, grad_power, pow(x[0], x[1]))
BINARY(maximum, infer_number, LINEAR_NO, grad_maximum, maximum(x[0], x[1]))
BINARY(minimum, infer_number, LINEAR_NO, grad_minimum, minimum(x[0], x[1]))
BINARY(and, infer_bool, LINEAR_NO, NULL, x[0] != 0 && x[1] != 0)
BINARY(or, infer_bool, LINEAR_NO, NULL, x[0] != 0 || x[1] != 0)

static bool infer_convert(const Func *f, Op *op, Diag *d)
{
    (void)f;
    return type_same_shape(&op->type, &op->operand[0]->type) ||
           op_fail(op, d, "the result has another shape");
}

// Only a conversion that rounds nothing goes through a sum.
static bool is_widening(const Op *op)
{
    DType from = op->operand[0]->type.dtype, to = op->type.dtype;
    return from == to || (from == DT_bf16 && to == DT_f32);
}

// A float outside of i32 becomes the last number there; the interpreter rounds
// to the result's type.
static double scalar_convert(const Op *op, const double x[])
{
    if (op->type.dtype != DT_i32 || isnan(x[0]))
        return x[0];
    return fmin(fmax(x[0], INT32_MIN), INT32_MAX);
}

static void grad_convert(Func *f, const Op *op, Op *ct, Op *out[])
{
    DType from = op->operand[0]->type.dtype;
    if (dtype_is_float(from))
        out[0] = build_convert(f, ct, from);
}

const OpInfo op_convert = {
    .name = "convert",
    .noperand = 1,
    .attrs = {A_END},
    .linear = LINEAR_ALL,
    .is_linear = is_widening,
    .infer = infer_convert,
    .grad = grad_convert,
    .rule = rule_pointwise,
    .scalar = scalar_convert,
};

static bool infer_any(const Func *f, Op *op, Diag *d)
{
    (void)f, (void)d;
    op->type = op->operand[0]->type;
    return true;
}

const OpInfo op_stop_gradient = {
    .name = "stop_gradient",
    .noperand = 1,
    .attrs = {A_END},
    .linear = LINEAR_ALL,
    .is_flat = true,
    .infer = infer_any,
    .rule = rule_pointwise,
    .scalar = scalar_first,
};
