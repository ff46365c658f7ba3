#include "emit/point.h"

#include <math.h>
#include <string.h>

#include "emit/elementary.h"

#define POINT(name)                                                            \
    static LLVMValueRef emit_##name(const Gen *g, const Op *op,                \
                                    const LLVMValueRef x[], int lanes)

static bool is_float(const Op *op)
{
    return dtype_is_float(op->operand[0]->type.dtype);
}

POINT(neg)
{
    (void)lanes;
    return is_float(op) ? LLVMBuildFNeg(g->b, x[0], "")
                        : LLVMBuildNeg(g->b, x[0], "");
}

POINT(abs)
{
    if (is_float(op))
        return gen_unary(g, "llvm.fabs", x[0]);
    LLVMValueRef zero = gen_int(g->i32, 0, lanes);
    LLVMValueRef negative = LLVMBuildICmp(g->b, LLVMIntSLT, x[0], zero, "");
    return LLVMBuildSelect(g->b, negative, LLVMBuildNeg(g->b, x[0], ""), x[0],
                           "");
}

POINT(exp)
{
    (void)op;
    return math_exp(g, x[0], lanes);
}

POINT(log)
{
    (void)op;
    return math_log(g, x[0], lanes);
}

POINT(sqrt)
{
    (void)op, (void)lanes;
    return gen_unary(g, "llvm.sqrt", x[0]);
}

POINT(rsqrt)
{
    (void)op;
    return LLVMBuildFDiv(g->b, gen_float(g, 1, lanes),
                         gen_unary(g, "llvm.sqrt", x[0]), "");
}

POINT(sin)
{
    (void)op;
    return math_sin(g, x[0], lanes);
}

POINT(cos)
{
    (void)op;
    return math_cos(g, x[0], lanes);
}

POINT(tanh)
{
    (void)op;
    return math_tanh(g, x[0], lanes);
}

POINT(logistic)
{
    (void)op;
    LLVMValueRef one = gen_float(g, 1, lanes);
    LLVMValueRef e = math_exp(g, LLVMBuildFNeg(g->b, x[0], ""), lanes);
    return LLVMBuildFDiv(g->b, one, LLVMBuildFAdd(g->b, one, e, ""), "");
}

POINT(floor)
{
    (void)op, (void)lanes;
    return gen_unary(g, "llvm.floor", x[0]);
}

POINT(ceil)
{
    (void)op, (void)lanes;
    return gen_unary(g, "llvm.ceil", x[0]);
}

POINT(not )
{
    (void)op, (void)lanes;
    return LLVMBuildNot(g->b, x[0], "");
}

static LLVMValueRef is_nonzero(const Gen *g, const Op *op, LLVMValueRef x)
{
    LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(x));
    return is_float(op) ? LLVMBuildFCmp(g->b, LLVMRealUNE, x, zero, "")
                        : LLVMBuildICmp(g->b, LLVMIntNE, x, zero, "");
}

POINT(convert)
{
    DType from = op->operand[0]->type.dtype, to = op->type.dtype;
    LLVMTypeRef type = gen_compute_type(g, to, lanes);
    if (from == to || (is_float(op) && dtype_is_float(to)))
        return x[0];
    if (to == DT_bool)
        return is_nonzero(g, op, x[0]);
    if (is_float(op)) {
        LLVMTypeRef over[] = {type, LLVMTypeOf(x[0])};
        LLVMValueRef arg[] = {x[0]};
        return gen_intrinsic(g, "llvm.fptosi.sat", 2, over, 1, arg);
    }
    if (from == DT_bool)
        return to == DT_i32 ? LLVMBuildZExt(g->b, x[0], type, "")
                            : LLVMBuildUIToFP(g->b, x[0], type, "");
    return LLVMBuildSIToFP(g->b, x[0], type, "");
}

POINT(add)
{
    (void)lanes;
    return is_float(op) ? LLVMBuildFAdd(g->b, x[0], x[1], "")
                        : LLVMBuildAdd(g->b, x[0], x[1], "");
}

POINT(subtract)
{
    (void)lanes;
    return is_float(op) ? LLVMBuildFSub(g->b, x[0], x[1], "")
                        : LLVMBuildSub(g->b, x[0], x[1], "");
}

POINT(multiply)
{
    (void)lanes;
    return is_float(op) ? LLVMBuildFMul(g->b, x[0], x[1], "")
                        : LLVMBuildMul(g->b, x[0], x[1], "");
}

// Of integers truncated; -1 for a zero divisor, and no overflow trap.
POINT(divide)
{
    if (is_float(op))
        return LLVMBuildFDiv(g->b, x[0], x[1], "");
    LLVMValueRef minus = gen_int(g->i32, -1, lanes);
    LLVMValueRef one = gen_int(g->i32, 1, lanes);
    LLVMValueRef is_zero =
        LLVMBuildICmp(g->b, LLVMIntEQ, x[1], gen_int(g->i32, 0, lanes), "");
    LLVMValueRef is_minus = LLVMBuildICmp(g->b, LLVMIntEQ, x[1], minus, "");
    LLVMValueRef safe = LLVMBuildSelect(
        g->b, LLVMBuildOr(g->b, is_zero, is_minus, ""), one, x[1], "");
    LLVMValueRef y = LLVMBuildSDiv(g->b, x[0], safe, "");
    y = LLVMBuildSelect(g->b, is_minus, LLVMBuildNeg(g->b, x[0], ""), y, "");
    return LLVMBuildSelect(g->b, is_zero, minus, y, "");
}

// Before the sum; products of bf16 are exact in f32.
POINT(einsum)
{
    return emit_multiply(g, op, x, lanes);
}

POINT(power)
{
    (void)op;
    return math_power(g, x[0], x[1], lanes);
}

// The larger or smaller one; a NaN wins.
static LLVMValueRef choose(const Gen *g, bool is_float_type, bool is_max,
                           LLVMValueRef a, LLVMValueRef b)
{
    LLVMValueRef test;
    if (!is_float_type) {
        test = LLVMBuildICmp(g->b, is_max ? LLVMIntSGT : LLVMIntSLT, a, b, "");
        return LLVMBuildSelect(g->b, test, a, b, "");
    }
    test = LLVMBuildFCmp(g->b, is_max ? LLVMRealOGT : LLVMRealOLT, a, b, "");
    LLVMValueRef y = LLVMBuildSelect(g->b, test, a, b, "");
    LLVMValueRef nan = LLVMBuildFCmp(g->b, LLVMRealUNO, a, a, "");
    return LLVMBuildSelect(g->b, nan, a, y, "");
}

POINT(maximum)
{
    (void)lanes;
    return choose(g, is_float(op), true, x[0], x[1]);
}

POINT(minimum)
{
    (void)lanes;
    return choose(g, is_float(op), false, x[0], x[1]);
}

POINT(and)
{
    (void)op, (void)lanes;
    return LLVMBuildAnd(g->b, x[0], x[1], "");
}

POINT(or)
{
    (void)op, (void)lanes;
    return LLVMBuildOr(g->b, x[0], x[1], "");
}

POINT(compare)
{
    static const struct {
        const char *dir;
        LLVMRealPredicate real;
        LLVMIntPredicate of_int, of_bool;
    } table[] = {
        {"eq", LLVMRealOEQ, LLVMIntEQ, LLVMIntEQ},
        {"ne", LLVMRealUNE, LLVMIntNE, LLVMIntNE},
        {"lt", LLVMRealOLT, LLVMIntSLT, LLVMIntULT},
        {"le", LLVMRealOLE, LLVMIntSLE, LLVMIntULE},
        {"gt", LLVMRealOGT, LLVMIntSGT, LLVMIntUGT},
        {"ge", LLVMRealOGE, LLVMIntSGE, LLVMIntUGE},
    };
    int i = 0;
    (void)lanes;
    while (strcmp(table[i].dir, op_str(op, A_dir)) != 0)
        i++;
    if (is_float(op))
        return LLVMBuildFCmp(g->b, table[i].real, x[0], x[1], "");
    bool is_bool = op->operand[0]->type.dtype == DT_bool;
    return LLVMBuildICmp(g->b, is_bool ? table[i].of_bool : table[i].of_int,
                         x[0], x[1], "");
}

POINT(select)
{
    (void)op, (void)lanes;
    return LLVMBuildSelect(g->b, x[0], x[1], x[2], "");
}

// x[1] is the place in the whole dimension.
POINT(mask)
{
    double value = op_attr(op, A_value)->floats[0];
    LLVMValueRef fill = gen_number(g, op->type.dtype, value, lanes);
    LLVMValueRef size = gen_int(g->i32, op_int(op, A_size, 0), lanes);
    LLVMValueRef inside = LLVMBuildICmp(g->b, LLVMIntSLT, x[1], size, "");
    return LLVMBuildSelect(g->b, inside, x[0], fill, "");
}

PointEmitter *const point_emitter[NOP] = {
    [OP_neg] = emit_neg,
    [OP_abs] = emit_abs,
    [OP_exp] = emit_exp,
    [OP_log] = emit_log,
    [OP_sqrt] = emit_sqrt,
    [OP_rsqrt] = emit_rsqrt,
    [OP_sin] = emit_sin,
    [OP_cos] = emit_cos,
    [OP_tanh] = emit_tanh,
    [OP_logistic] = emit_logistic,
    [OP_floor] = emit_floor,
    [OP_ceil] = emit_ceil,
    [OP_not] = emit_not,
    [OP_convert] = emit_convert,
    [OP_add] = emit_add,
    [OP_subtract] = emit_subtract,
    [OP_multiply] = emit_multiply,
    [OP_divide] = emit_divide,
    [OP_power] = emit_power,
    [OP_maximum] = emit_maximum,
    [OP_minimum] = emit_minimum,
    [OP_and] = emit_and,
    [OP_or] = emit_or,
    [OP_compare] = emit_compare,
    [OP_select] = emit_select,
    [OP_mask] = emit_mask,
    [OP_einsum] = emit_einsum,
};

// max, min; all else sums.
LLVMValueRef point_combine(const Gen *g, OpCode reduce, DType t, LLVMValueRef a,
                           LLVMValueRef b)
{
    if (reduce != OP_reduce_max && reduce != OP_reduce_min)
        return dtype_is_float(t) ? LLVMBuildFAdd(g->b, a, b, "")
                                 : LLVMBuildAdd(g->b, a, b, "");
    return choose(g, dtype_is_float(t), reduce == OP_reduce_max, a, b);
}

LLVMValueRef point_identity(const Gen *g, OpCode reduce, DType t, int lanes)
{
    int sign = reduce == OP_reduce_max ? -1 : reduce == OP_reduce_min ? 1 : 0;
    if (dtype_is_float(t))
        return gen_float(g, sign ? sign * (double)INFINITY : 0, lanes);
    int64_t least = sign < 0 ? INT32_MIN : INT32_MAX;
    return gen_int(g->i32, sign ? least : 0, lanes);
}
