// exp stays in f32, for it is what softmax and silu are made of; the others
// are few, so they work in f64, where short series are exact enough.
//
// To round to an integer, 1.5 * 2^(mantissa bits) is added: the low bits of
// the sum then hold the integer, and subtracting it again gives it as a float.
#include "emit/elementary.h"

#include <math.h>

// ((c[0] x + c[1]) x + ...) x + c[n - 1]
static LLVMValueRef polynomial(const Gen *g, LLVMValueRef x, int n,
                               const double c[], bool is_double, int lanes)
{
    LLVMValueRef y = NULL;
    for (int i = 0; i < n; i++) {
        LLVMValueRef k =
            is_double ? gen_double(g, c[i], lanes) : gen_float(g, c[i], lanes);
        y = y ? gen_fma(g, y, x, k) : k;
    }
    return y;
}

static LLVMValueRef bits_of(const Gen *g, LLVMValueRef x, LLVMTypeRef ints,
                            int lanes)
{
    return LLVMBuildBitCast(g->b, x, gen_vector(ints, lanes), "");
}

static LLVMValueRef pick(const Gen *g, LLVMRealPredicate p, LLVMValueRef a,
                         LLVMValueRef b, LLVMValueRef then, LLVMValueRef other)
{
    LLVMValueRef test = LLVMBuildFCmp(g->b, p, a, b, "");
    return LLVMBuildSelect(g->b, test, then, other, "");
}

// To [low, high]; NaN stays NaN.
static LLVMValueRef clamp(const Gen *g, LLVMValueRef x, LLVMValueRef low,
                          LLVMValueRef high)
{
    x = pick(g, LLVMRealOGT, x, high, high, x);
    return pick(g, LLVMRealOLT, x, low, low, x);
}

// 2^n as f32.
static LLVMValueRef power_of_two(const Gen *g, LLVMValueRef n, int lanes)
{
    n = gen_add(g, n, gen_int(g->i32, 127, lanes));
    n = LLVMBuildShl(g->b, n, gen_int(g->i32, 23, lanes), "");
    return LLVMBuildBitCast(g->b, n, gen_vector(g->f32, lanes), "");
}

// x = n ln 2 + r, a polynomial in r (Cephes expf), and 2^n in two steps, as n
// reaches from -150 to 128.
LLVMValueRef math_exp(const Gen *g, LLVMValueRef x, int lanes)
{
    static const double c[] = {1.9875691500e-4, 1.3981999507e-3,
                               8.3334519073e-3, 4.1665795894e-2,
                               1.6666665459e-1, 5.0000001201e-1};
    LLVMValueRef magic = gen_float(g, 12582912, lanes);
    LLVMValueRef one = gen_float(g, 1, lanes);
    x = clamp(g, x, gen_float(g, -104, lanes), gen_float(g, 89, lanes));
    LLVMValueRef sum =
        gen_fma(g, x, gen_float(g, 1.44269504088896341, lanes), magic);
    LLVMValueRef n = LLVMBuildFSub(g->b, sum, magic, "");
    LLVMValueRef r = gen_fma(g, n, gen_float(g, -0.693359375, lanes), x);
    r = gen_fma(g, n, gen_float(g, 2.12194440e-4, lanes), r);
    LLVMValueRef square = LLVMBuildFMul(g->b, r, r, "");
    LLVMValueRef y = polynomial(g, r, 6, c, false, lanes);
    y = gen_fma(g, y, square, LLVMBuildFAdd(g->b, r, one, ""));
    LLVMValueRef k = gen_sub(g, bits_of(g, sum, g->i32, lanes),
                             bits_of(g, magic, g->i32, lanes));
    LLVMValueRef half = LLVMBuildAShr(g->b, k, gen_int(g->i32, 1, lanes), "");
    y = LLVMBuildFMul(g->b, y, power_of_two(g, half, lanes), "");
    return LLVMBuildFMul(g->b, y, power_of_two(g, gen_sub(g, k, half), lanes),
                         "");
}

static LLVMValueRef widen(const Gen *g, LLVMValueRef x, int lanes)
{
    return LLVMBuildFPExt(g->b, x, gen_vector(g->f64, lanes), "");
}

static LLVMValueRef narrow(const Gen *g, LLVMValueRef x, int lanes)
{
    return LLVMBuildFPTrunc(g->b, x, gen_vector(g->f32, lanes), "");
}

// x = 2^e m with m in [1/sqrt 2, sqrt 2); log m = 2 atanh((m - 1) / (m + 1)).
LLVMValueRef math_log(const Gen *g, LLVMValueRef x, int lanes)
{
    static const double c[] = {2.0 / 15, 2.0 / 13, 2.0 / 11, 2.0 / 9,
                               2.0 / 7,  2.0 / 5,  2.0 / 3,  2.0};
    LLVMValueRef one = gen_double(g, 1, lanes);
    LLVMValueRef zero = gen_float(g, 0, lanes);
    LLVMValueRef bits = bits_of(g, widen(g, x, lanes), g->i64, lanes);
    // The exponent of x * sqrt 2, by its bits.
    LLVMValueRef e =
        gen_add(g, bits, gen_int(g->i64, 0x00095f6200000000, lanes));
    e = LLVMBuildAShr(g->b, e, gen_int(g->i64, 52, lanes), "");
    e = gen_sub(g, e, gen_int(g->i64, 1023, lanes));
    LLVMValueRef m =
        gen_sub(g, bits, LLVMBuildShl(g->b, e, gen_int(g->i64, 52, lanes), ""));
    m = LLVMBuildBitCast(g->b, m, gen_vector(g->f64, lanes), "");
    LLVMValueRef s = LLVMBuildFDiv(g->b, LLVMBuildFSub(g->b, m, one, ""),
                                   LLVMBuildFAdd(g->b, m, one, ""), "");
    LLVMValueRef y =
        polynomial(g, LLVMBuildFMul(g->b, s, s, ""), 8, c, true, lanes);
    y = LLVMBuildFMul(g->b, y, s, "");
    e = LLVMBuildTrunc(g->b, e, gen_vector(g->i32, lanes), "");
    e = LLVMBuildSIToFP(g->b, e, gen_vector(g->f64, lanes), "");
    y = narrow(g, gen_fma(g, e, gen_double(g, M_LN2, lanes), y), lanes);
    LLVMValueRef infinite = gen_float(g, INFINITY, lanes);
    y = pick(g, LLVMRealOEQ, x, infinite, infinite, y);
    y = pick(g, LLVMRealOEQ, x, zero, gen_float(g, -INFINITY, lanes), y);
    return pick(g, LLVMRealUGE, x, zero, LLVMBuildFAdd(g->b, y, zero, ""),
                gen_float(g, NAN, lanes));
}

// x = n pi/2 + r; sine and cosine of r, of which n's low bits pick one and a
// sign. `quarter` is 1 for the cosine.
static LLVMValueRef wave(const Gen *g, LLVMValueRef x, int quarter, int lanes)
{
    static const double sine[] = {1.6059043836821613e-10,
                                  -2.5052108385441720e-8,
                                  2.7557319223985893e-6,
                                  -1.9841269841269841e-4,
                                  8.3333333333333332e-3,
                                  -1.6666666666666666e-1,
                                  1};
    static const double cosine[] = {2.0876756987868099e-9,
                                    -2.7557319223985888e-7,
                                    2.4801587301587302e-5,
                                    -1.3888888888888889e-3,
                                    4.1666666666666664e-2,
                                    -0.5,
                                    1};
    LLVMValueRef magic = gen_double(g, 6755399441055744, lanes);
    x = widen(g, x, lanes);
    LLVMValueRef sum = gen_fma(g, x, gen_double(g, M_2_PI, lanes), magic);
    LLVMValueRef n = LLVMBuildFSub(g->b, sum, magic, "");
    LLVMValueRef r = gen_fma(g, n, gen_double(g, -M_PI_2, lanes), x);
    r = gen_fma(g, n, gen_double(g, -6.123233995736766e-17, lanes), r);
    LLVMValueRef square = LLVMBuildFMul(g->b, r, r, "");
    LLVMValueRef s = polynomial(g, square, 7, sine, true, lanes);
    s = LLVMBuildFMul(g->b, s, r, "");
    LLVMValueRef c = polynomial(g, square, 7, cosine, true, lanes);
    LLVMValueRef q = gen_add(g, bits_of(g, sum, g->i64, lanes),
                             gen_int(g->i64, quarter, lanes));
    LLVMValueRef none = gen_int(g->i64, 0, lanes);
    LLVMValueRef odd = LLVMBuildAnd(g->b, q, gen_int(g->i64, 1, lanes), "");
    LLVMValueRef low = LLVMBuildAnd(g->b, q, gen_int(g->i64, 2, lanes), "");
    LLVMValueRef y = LLVMBuildSelect(
        g->b, LLVMBuildICmp(g->b, LLVMIntEQ, odd, none, ""), s, c, "");
    y = LLVMBuildSelect(g->b, LLVMBuildICmp(g->b, LLVMIntEQ, low, none, ""), y,
                        LLVMBuildFNeg(g->b, y, ""), "");
    return narrow(g, y, lanes);
}

LLVMValueRef math_sin(const Gen *g, LLVMValueRef x, int lanes)
{
    return wave(g, x, 0, lanes);
}

LLVMValueRef math_cos(const Gen *g, LLVMValueRef x, int lanes)
{
    return wave(g, x, 1, lanes);
}

// exp of f64 values in [-40, 40].
static LLVMValueRef exp_double(const Gen *g, LLVMValueRef x, int lanes)
{
    static const double c[] = {2.5052108385441720e-8,
                               2.7557319223985888e-7,
                               2.7557319223985893e-6,
                               2.4801587301587302e-5,
                               1.9841269841269841e-4,
                               1.3888888888888889e-3,
                               8.3333333333333332e-3,
                               4.1666666666666664e-2,
                               1.6666666666666666e-1,
                               0.5,
                               1,
                               1};
    LLVMValueRef magic = gen_double(g, 6755399441055744, lanes);
    LLVMValueRef sum = gen_fma(g, x, gen_double(g, M_LOG2E, lanes), magic);
    LLVMValueRef n = LLVMBuildFSub(g->b, sum, magic, "");
    LLVMValueRef r = gen_fma(g, n, gen_double(g, -M_LN2, lanes), x);
    LLVMValueRef y = polynomial(g, r, 12, c, true, lanes);
    LLVMValueRef k = gen_sub(g, bits_of(g, sum, g->i64, lanes),
                             bits_of(g, magic, g->i64, lanes));
    k = gen_add(g, k, gen_int(g->i64, 1023, lanes));
    k = LLVMBuildShl(g->b, k, gen_int(g->i64, 52, lanes), "");
    k = LLVMBuildBitCast(g->b, k, gen_vector(g->f64, lanes), "");
    return LLVMBuildFMul(g->b, y, k, "");
}

// 1 - 2 / (exp(2x) + 1); x itself where that would cancel.
LLVMValueRef math_tanh(const Gen *g, LLVMValueRef x, int lanes)
{
    LLVMValueRef one = gen_double(g, 1, lanes);
    LLVMValueRef two = gen_double(g, 2, lanes);
    LLVMValueRef wide = clamp(g, widen(g, x, lanes), gen_double(g, -20, lanes),
                              gen_double(g, 20, lanes));
    LLVMValueRef e = exp_double(g, LLVMBuildFMul(g->b, wide, two, ""), lanes);
    LLVMValueRef y =
        LLVMBuildFDiv(g->b, two, LLVMBuildFAdd(g->b, e, one, ""), "");
    y = narrow(g, LLVMBuildFSub(g->b, one, y, ""), lanes);
    return pick(g, LLVMRealOLT, gen_unary(g, "llvm.fabs", x),
                gen_float(g, 1e-4, lanes), x, y);
}

// By the C library, lane by lane: it is rare, and has many special cases.
LLVMValueRef math_power(const Gen *g, LLVMValueRef x, LLVMValueRef y, int lanes)
{
    LLVMTypeRef param[] = {g->f32, g->f32};
    LLVMTypeRef type = LLVMFunctionType(g->f32, param, 2, false);
    LLVMValueRef f = LLVMGetNamedFunction(g->module, "powf");
    LLVMValueRef all = LLVMGetPoison(gen_vector(g->f32, lanes));
    if (!f)
        f = LLVMAddFunction(g->module, "powf", type);
    if (lanes == 1)
        return LLVMBuildCall2(g->b, type, f, (LLVMValueRef[]){x, y}, 2, "");
    for (int i = 0; i < lanes; i++) {
        LLVMValueRef at = gen_i32(g, i);
        LLVMValueRef arg[] = {LLVMBuildExtractElement(g->b, x, at, ""),
                              LLVMBuildExtractElement(g->b, y, at, "")};
        LLVMValueRef one = LLVMBuildCall2(g->b, type, f, arg, 2, "");
        all = LLVMBuildInsertElement(g->b, all, one, at, "");
    }
    return all;
}
