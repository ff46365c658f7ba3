// Elementwise ops: each result entry is a scalar function of the operands'
// entries at the same place.
#include <math.h>
#include <string.h>

#include "op/util.h"

static bool same_shapes(const Op *op, Diag *d)
{
    for (int i = 1; i < op->noperand; i++)
        if (!type_same_shape(&op->operand[0]->type, &op->operand[i]->type))
            return op_fail(op, d, "operands 0 and %d differ in shape", i);
    return true;
}

static bool same_types(const Op *op, Diag *d)
{
    if (!same_shapes(op, d))
        return false;
    for (int i = 1; i < op->noperand; i++)
        if (op->operand[i]->type.dtype != op->operand[0]->type.dtype)
            return op_fail(op, d, "operands are %s and %s",
                           dtype_name[op->operand[0]->type.dtype],
                           dtype_name[op->operand[i]->type.dtype]);
    return true;
}

static bool infer_float(const Func *f, Op *op, Diag *d)
{
    (void)f;
    if (!same_types(op, d))
        return false;
    op->type = op->operand[0]->type;
    return dtype_is_float(op->type.dtype) ||
           op_fail(op, d, "wants a float type");
}

static bool infer_number(const Func *f, Op *op, Diag *d)
{
    (void)f;
    if (!same_types(op, d))
        return false;
    op->type = op->operand[0]->type;
    return op->type.dtype != DT_bool || op_fail(op, d, "wants numbers");
}

static bool infer_bool(const Func *f, Op *op, Diag *d)
{
    (void)f;
    if (!same_types(op, d))
        return false;
    op->type = op->operand[0]->type;
    return op->type.dtype == DT_bool || op_fail(op, d, "wants bool");
}

#define UNARY(op_name, how, lin, expr)                                         \
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
        .rule = rule_pointwise,                                                \
        .scalar = scalar_##op_name,                                            \
    };

UNARY(neg, infer_number, LINEAR_ALL, -x[0])
UNARY(abs, infer_number, LINEAR_NO, fabs(x[0]))
UNARY(exp, infer_float, LINEAR_NO, exp(x[0]))
UNARY(log, infer_float, LINEAR_NO, log(x[0]))
UNARY(sqrt, infer_float, LINEAR_NO, sqrt(x[0]))
UNARY(rsqrt, infer_float, LINEAR_NO, 1 / sqrt(x[0]))
UNARY(sin, infer_float, LINEAR_NO, sin(x[0]))
UNARY(cos, infer_float, LINEAR_NO, cos(x[0]))
UNARY(tanh, infer_float, LINEAR_NO, tanh(x[0]))
UNARY(logistic, infer_float, LINEAR_NO, 1 / (1 + exp(-x[0])))
UNARY(floor, infer_float, LINEAR_NO, floor(x[0]))
UNARY(ceil, infer_float, LINEAR_NO, ceil(x[0]))
UNARY(not, infer_bool, LINEAR_NO, x[0] == 0)

#define BINARY(op_name, how, lin, expr)                                        \
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

BINARY(add, infer_number, LINEAR_ALL, x[0] + x[1])
BINARY(subtract, infer_number, LINEAR_ALL, x[0] - x[1])
BINARY(multiply, infer_number, LINEAR_ANY, x[0] * x[1])
BINARY(divide, infer_number, LINEAR_NO, quotient(op, x[0], x[1]))
BINARY(power, infer_float, LINEAR_NO, pow(x[0], x[1]))
BINARY(maximum, infer_number, LINEAR_NO, maximum(x[0], x[1]))
BINARY(minimum, infer_number, LINEAR_NO, minimum(x[0], x[1]))
BINARY(and, infer_bool, LINEAR_NO, x[0] != 0 && x[1] != 0)
BINARY(or, infer_bool, LINEAR_NO, x[0] != 0 || x[1] != 0)

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

const OpInfo op_convert = {
    .name = "convert",
    .noperand = 1,
    .attrs = {A_END},
    .linear = LINEAR_ALL,
    .is_linear = is_widening,
    .infer = infer_convert,
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

static const char *const directions[] = {"eq", "ne", "lt", "le", "gt", "ge"};

static int direction(const Op *op)
{
    int i = 0;
    while (i < 6 && strcmp(directions[i], op_str(op, A_dir)) != 0)
        i++;
    return i;
}

static bool infer_compare(const Func *f, Op *op, Diag *d)
{
    (void)f;
    if (!same_types(op, d))
        return false;
    op->type = op->operand[0]->type;
    op->type.dtype = DT_bool;
    return direction(op) < 6 ||
           op_fail(op, d, "no direction is called %s", op_str(op, A_dir));
}

static double scalar_compare(const Op *op, const double x[])
{
    switch (direction(op)) {
    case 0: return x[0] == x[1];
    case 1: return x[0] != x[1];
    case 2: return x[0] < x[1];
    case 3: return x[0] <= x[1];
    case 4: return x[0] > x[1];
    default: return x[0] >= x[1];
    }
}

const OpInfo op_compare = {
    .name = "compare",
    .noperand = 2,
    .attrs = {A_dir, A_END},
    .infer = infer_compare,
    .rule = rule_pointwise,
    .scalar = scalar_compare,
};

static bool infer_select(const Func *f, Op *op, Diag *d)
{
    (void)f;
    if (!same_shapes(op, d))
        return false;
    op->type = op->operand[1]->type;
    if (op->operand[0]->type.dtype != DT_bool)
        return op_fail(op, d, "operand 0 must be bool");
    return op->operand[2]->type.dtype == op->type.dtype ||
           op_fail(op, d, "operands 1 and 2 differ in type");
}

static double scalar_select(const Op *op, const double x[])
{
    (void)op;
    return x[0] != 0 ? x[1] : x[2];
}

const OpInfo op_select = {
    .name = "select",
    .noperand = 3,
    .attrs = {A_END},
    .infer = infer_select,
    .rule = rule_pointwise,
    .scalar = scalar_select,
};
