#include "emit/gen.h"

#include <assert.h>
#include <string.h>

#include "ir/interp.h"

LLVMTypeRef gen_vector(LLVMTypeRef element, int lanes)
{
    return lanes == 1 ? element : LLVMVectorType(element, (unsigned)lanes);
}

LLVMValueRef gen_i64(const Gen *g, int64_t x)
{
    return LLVMConstInt(g->i64, (unsigned long long)x, true);
}

LLVMValueRef gen_i32(const Gen *g, int64_t x)
{
    return LLVMConstInt(g->i32, (unsigned long long)x, true);
}

static LLVMValueRef same_in_all(LLVMValueRef x, int lanes)
{
    LLVMValueRef all[MAX_LANES];
    if (lanes == 1)
        return x;
    for (int i = 0; i < lanes; i++)
        all[i] = x;
    return LLVMConstVector(all, (unsigned)lanes);
}

LLVMValueRef gen_float(const Gen *g, double x, int lanes)
{
    return same_in_all(LLVMConstReal(g->f32, x), lanes);
}

LLVMValueRef gen_double(const Gen *g, double x, int lanes)
{
    return same_in_all(LLVMConstReal(g->f64, x), lanes);
}

LLVMValueRef gen_int(LLVMTypeRef type, int64_t x, int lanes)
{
    return same_in_all(LLVMConstInt(type, (unsigned long long)x, true), lanes);
}

LLVMValueRef gen_number(const Gen *g, DType t, double x, int lanes)
{
    if (t == DT_bool)
        return gen_int(g->i1, x != 0, lanes);
    return t == DT_i32 ? gen_int(g->i32, (int64_t)round_i32(x), lanes)
                       : gen_float(g, x, lanes);
}

LLVMValueRef gen_splat(const Gen *g, LLVMValueRef x, int lanes)
{
    if (lanes == 1)
        return x;
    if (LLVMIsConstant(x))
        return same_in_all(x, lanes);
    LLVMTypeRef type = gen_vector(LLVMTypeOf(x), lanes);
    LLVMValueRef poison = LLVMGetPoison(type);
    LLVMValueRef one =
        LLVMBuildInsertElement(g->b, poison, x, gen_i32(g, 0), "");
    return LLVMBuildShuffleVector(g->b, one, poison,
                                  LLVMConstNull(gen_vector(g->i32, lanes)), "");
}

LLVMValueRef gen_add(const Gen *g, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildAdd(g->b, a, b, "");
}

LLVMValueRef gen_sub(const Gen *g, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildSub(g->b, a, b, "");
}

LLVMValueRef gen_mul(const Gen *g, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildMul(g->b, a, b, "");
}

LLVMValueRef gen_scale(const Gen *g, LLVMValueRef a, int64_t k)
{
    return k == 1 ? a : gen_mul(g, a, gen_i64(g, k));
}

LLVMValueRef gen_min(const Gen *g, LLVMValueRef a, LLVMValueRef b)
{
    LLVMValueRef less = LLVMBuildICmp(g->b, LLVMIntSLT, a, b, "");
    return LLVMBuildSelect(g->b, less, a, b, "");
}

LLVMValueRef gen_intrinsic(const Gen *g, const char *name, int nover,
                           LLVMTypeRef over[], int n, LLVMValueRef arg[])
{
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    assert(id);
    LLVMTypeRef type =
        LLVMIntrinsicGetType(g->context, id, over, (size_t)nover);
    LLVMValueRef f =
        LLVMGetIntrinsicDeclaration(g->module, id, over, (size_t)nover);
    return LLVMBuildCall2(g->b, type, f, arg, (unsigned)n, "");
}

LLVMValueRef gen_fma(const Gen *g, LLVMValueRef a, LLVMValueRef b,
                     LLVMValueRef c)
{
    LLVMTypeRef type = LLVMTypeOf(a);
    return gen_intrinsic(g, "llvm.fma", 1, &type, 3, (LLVMValueRef[]){a, b, c});
}

LLVMValueRef gen_unary(const Gen *g, const char *name, LLVMValueRef x)
{
    LLVMTypeRef type = LLVMTypeOf(x);
    return gen_intrinsic(g, name, 1, &type, 1, &x);
}

LLVMValueRef gen_shuffle(const Gen *g, LLVMValueRef a, LLVMValueRef b, int n,
                         const int pick[])
{
    LLVMValueRef mask[2 * MAX_LANES];
    for (int i = 0; i < n; i++)
        mask[i] = gen_i32(g, pick[i]);
    return LLVMBuildShuffleVector(g->b, a, b,
                                  LLVMConstVector(mask, (unsigned)n), "");
}

LLVMValueRef gen_address(const Gen *g, LLVMValueRef p, LLVMValueRef bytes)
{
    return LLVMBuildGEP2(g->b, g->i8, p, &bytes, 1, "");
}

LLVMValueRef gen_offset(const Gen *g, LLVMValueRef p, int64_t bytes)
{
    return bytes ? gen_address(g, p, gen_i64(g, bytes)) : p;
}

LLVMValueRef gen_load(const Gen *g, LLVMTypeRef type, LLVMValueRef p, int align)
{
    LLVMValueRef x = LLVMBuildLoad2(g->b, type, p, "");
    LLVMSetAlignment(x, (unsigned)align);
    return x;
}

void gen_store(const Gen *g, LLVMValueRef x, LLVMValueRef p, int align)
{
    LLVMSetAlignment(LLVMBuildStore(g->b, x, p), (unsigned)align);
}

void gen_prefetch(const Gen *g, LLVMValueRef p, bool to_write)
{
    LLVMTypeRef type = g->ptr;
    gen_intrinsic(g, "llvm.prefetch", 1, &type, 4,
                  (LLVMValueRef[]){p, gen_i32(g, to_write), gen_i32(g, 3),
                                   gen_i32(g, 1)});
}

LLVMValueRef gen_stack(const Gen *g, int64_t bytes)
{
    LLVMTypeRef type = LLVMArrayType2(g->i8, (uint64_t)bytes);
    LLVMValueRef p = LLVMBuildAlloca(g->b, type, "");
    LLVMSetAlignment(p, 64);
    return p;
}

LLVMTypeRef gen_compute_type(const Gen *g, DType t, int lanes)
{
    LLVMTypeRef type[] = {[DT_f32] = g->f32,
                          [DT_bf16] = g->f32,
                          [DT_i32] = g->i32,
                          [DT_bool] = g->i1};
    return gen_vector(type[t], lanes);
}

LLVMValueRef gen_load_as(const Gen *g, DType t, LLVMValueRef p, int lanes)
{
    LLVMTypeRef memory[] = {[DT_f32] = g->f32,
                            [DT_bf16] = g->i16,
                            [DT_i32] = g->i32,
                            [DT_bool] = g->i8};
    LLVMValueRef x =
        gen_load(g, gen_vector(memory[t], lanes), p, dtype_bytes[t]);
    if (t == DT_bool)
        return LLVMBuildICmp(g->b, LLVMIntNE, x, LLVMConstNull(LLVMTypeOf(x)),
                             "");
    if (t != DT_bf16)
        return x;
    LLVMValueRef wide = LLVMBuildZExt(g->b, x, gen_vector(g->i32, lanes), "");
    LLVMValueRef high =
        LLVMBuildShl(g->b, wide, gen_int(g->i32, 16, lanes), "");
    return LLVMBuildBitCast(g->b, high, gen_vector(g->f32, lanes), "");
}

void gen_store_as(const Gen *g, DType t, LLVMValueRef x, LLVMValueRef p,
                  int lanes)
{
    if (t == DT_bool)
        x = LLVMBuildZExt(g->b, x, gen_vector(g->i8, lanes), "");
    if (t == DT_bf16) {
        x = LLVMBuildBitCast(g->b, x, gen_vector(g->i32, lanes), "");
        x = LLVMBuildLShr(g->b, x, gen_int(g->i32, 16, lanes), "");
        x = LLVMBuildTrunc(g->b, x, gen_vector(g->i16, lanes), "");
    }
    gen_store(g, x, p, dtype_bytes[t]);
}

LLVMValueRef gen_round_bf16(const Gen *g, LLVMValueRef x, int lanes)
{
    LLVMTypeRef ints = gen_vector(g->i32, lanes);
    LLVMValueRef half = gen_int(g->i32, 16, lanes);
    LLVMValueRef bits = LLVMBuildBitCast(g->b, x, ints, "");
    LLVMValueRef odd = LLVMBuildLShr(g->b, bits, half, "");
    odd = LLVMBuildAnd(g->b, odd, gen_int(g->i32, 1, lanes), "");
    LLVMValueRef up = gen_add(g, odd, gen_int(g->i32, 0x7fff, lanes));
    LLVMValueRef near = gen_add(g, bits, up);
    LLVMValueRef nan = LLVMBuildFCmp(g->b, LLVMRealUNO, x, x, "");
    near = LLVMBuildSelect(g->b, nan, bits, near, "");
    near = LLVMBuildAnd(g->b, near, gen_int(g->i32, -65536, lanes), "");
    return LLVMBuildBitCast(g->b, near, gen_vector(g->f32, lanes), "");
}

bool gen_function(Gen *g, const char *name, const char *params, LLVMValueRef *f)
{
    *f = LLVMGetNamedFunction(g->module, name);
    if (*f)
        return false;
    LLVMTypeRef type[MAX_PARAMS];
    unsigned n = (unsigned)strlen(params);
    assert(n <= MAX_PARAMS);
    for (unsigned i = 0; i < n; i++)
        type[i] = params[i] == 'p' ? g->ptr : g->i64;
    *f = LLVMAddFunction(g->module, name,
                         LLVMFunctionType(g->none, type, n, false));
    LLVMSetLinkage(*f, LLVMInternalLinkage);
    unsigned kind = LLVMGetEnumAttributeKindForName("nounwind", 8);
    LLVMAddAttributeAtIndex(*f, LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(g->context, kind, 0));
    assert(g->nouter < MAX_OUTER);
    g->outer[g->nouter] = g->function;
    g->outer_at[g->nouter++] = LLVMGetInsertBlock(g->b);
    g->function = *f;
    LLVMPositionBuilderAtEnd(
        g->b, LLVMAppendBasicBlockInContext(g->context, *f, "entry"));
    return true;
}

void gen_return(Gen *g)
{
    LLVMBuildRetVoid(g->b);
    g->function = g->outer[--g->nouter];
    if (g->function)
        LLVMPositionBuilderAtEnd(g->b, g->outer_at[g->nouter]);
}

void gen_call(const Gen *g, LLVMValueRef f, int n, LLVMValueRef arg[])
{
    LLVMBuildCall2(g->b, LLVMGlobalGetValueType(f), f, arg, (unsigned)n, "");
}

static LLVMBasicBlockRef new_block(const Gen *g, const char *name)
{
    return LLVMAppendBasicBlockInContext(g->context, g->function, name);
}

void loop_begin(const Gen *g, Loop *l, LLVMValueRef from, LLVMValueRef to,
                LLVMValueRef step, int ncarry, const LLVMValueRef init[])
{
    assert(ncarry <= MAX_CARRY);
    l->before = LLVMGetInsertBlock(g->b);
    l->body = new_block(g, "loop");
    l->exit = new_block(g, "after");
    l->to = to;
    l->step = step;
    l->ncarry = ncarry;
    LLVMValueRef some = LLVMBuildICmp(g->b, LLVMIntSLT, from, to, "");
    LLVMBuildCondBr(g->b, some, l->body, l->exit);
    LLVMPositionBuilderAtEnd(g->b, l->body);
    l->i = LLVMBuildPhi(g->b, g->i64, "i");
    LLVMAddIncoming(l->i, &from, &l->before, 1);
    for (int k = 0; k < ncarry; k++) {
        l->init[k] = init[k];
        l->carry[k] = LLVMBuildPhi(g->b, LLVMTypeOf(init[k]), "");
        LLVMAddIncoming(l->carry[k], &l->init[k], &l->before, 1);
    }
}

void loop_count(const Gen *g, Loop *l, int64_t from, int64_t to, int64_t step)
{
    loop_begin(g, l, gen_i64(g, from), gen_i64(g, to), gen_i64(g, step), 0,
               NULL);
}

void loop_end(const Gen *g, Loop *l, const LLVMValueRef next[])
{
    LLVMBasicBlockRef latch = LLVMGetInsertBlock(g->b);
    LLVMValueRef i = gen_add(g, l->i, l->step);
    LLVMAddIncoming(l->i, &i, &latch, 1);
    LLVMValueRef more = LLVMBuildICmp(g->b, LLVMIntSLT, i, l->to, "");
    LLVMBuildCondBr(g->b, more, l->body, l->exit);
    LLVMPositionBuilderAtEnd(g->b, l->exit);
    for (int k = 0; k < l->ncarry; k++) {
        LLVMValueRef value = next[k];
        LLVMAddIncoming(l->carry[k], &value, &latch, 1);
        l->carry[k] = LLVMBuildPhi(g->b, LLVMTypeOf(value), "");
        LLVMAddIncoming(l->carry[k], &l->init[k], &l->before, 1);
        LLVMAddIncoming(l->carry[k], &value, &latch, 1);
    }
}

void branch_if(const Gen *g, Branch *b, LLVMValueRef condition)
{
    LLVMBasicBlockRef then = new_block(g, "then");
    b->other = new_block(g, "else");
    b->exit = new_block(g, "endif");
    LLVMBuildCondBr(g->b, condition, then, b->other);
    LLVMPositionBuilderAtEnd(g->b, then);
}

void branch_else(const Gen *g, Branch *b)
{
    LLVMBuildBr(g->b, b->exit);
    LLVMPositionBuilderAtEnd(g->b, b->other);
    b->other = NULL;
}

void branch_end(const Gen *g, Branch *b)
{
    if (b->other)
        branch_else(g, b);
    LLVMBuildBr(g->b, b->exit);
    LLVMPositionBuilderAtEnd(g->b, b->exit);
}
