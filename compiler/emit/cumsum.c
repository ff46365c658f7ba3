// Running sums along one dimension, from either end, as vectors along the last
// one if that is another and dense.
#include "emit/kernel.h"

enum {
    OUT,
    IN,
};

static LLVMValueRef zero_of(const Gen *g, DType t, int lanes)
{
    return LLVMConstNull(gen_compute_type(g, t, lanes));
}

static void sum_along(const KernelCode *c, LLVMValueRef in, LLVMValueRef out,
                      int lanes)
{
    Loop l;
    Gen *g = c->g;
    DType t = c->kernel->op->type.dtype;
    int dim = (int)op_int(c->kernel->op, A_dim, 0);
    int64_t n = c->kernel->op->type.dim[dim];
    LLVMValueRef sum = zero_of(g, t, lanes);
    loop_begin(g, &l, gen_i64(g, 0), gen_i64(g, n), gen_i64(g, 1), 1, &sum);
    LLVMValueRef i = op_int(c->kernel->op, A_reverse, 0)
                         ? gen_sub(g, gen_i64(g, n - 1), l.i)
                         : l.i;
    LLVMValueRef x = gen_load_as(g, t, access_along(c, IN, in, dim, i), lanes);
    sum = dtype_is_float(t) ? LLVMBuildFAdd(g->b, l.carry[0], x, "")
                            : gen_add(g, l.carry[0], x);
    x = t == DT_bf16 ? gen_round_bf16(g, sum, lanes) : sum;
    gen_store_as(g, t, x, access_along(c, OUT, out, dim, i), lanes);
    loop_end(g, &l, &sum);
}

static void walk(const KernelCode *c, int dim, LLVMValueRef in,
                 LLVMValueRef out);

static void walk_run(const KernelCode *c, int dim, LLVMValueRef in,
                     LLVMValueRef out, int64_t from, int64_t to, int lanes)
{
    Loop l;
    if (from >= to)
        return;
    loop_count(c->g, &l, from, to, lanes);
    in = access_along(c, IN, in, dim, l.i);
    out = access_along(c, OUT, out, dim, l.i);
    if (lanes > 1)
        sum_along(c, in, out, lanes);
    else
        walk(c, dim + 1, in, out);
    loop_end(c->g, &l, NULL);
}

static void walk(const KernelCode *c, int dim, LLVMValueRef in,
                 LLVMValueRef out)
{
    const Type *type = &c->kernel->op->type;
    if (dim == type->rank) {
        sum_along(c, in, out, 1);
        return;
    }
    if (dim == op_int(c->kernel->op, A_dim, 0)) {
        walk(c, dim + 1, in, out);
        return;
    }
    bool is_dense = dim == type->rank - 1 && access_stride(c, IN, dim) == 1;
    int64_t size = type->dim[dim];
    int64_t whole = is_dense ? size / c->g->lanes * c->g->lanes : 0;
    walk_run(c, dim, in, out, 0, whole, c->g->lanes);
    walk_run(c, dim, in, out, whole, size, 1);
}

void emit_cumsum(KernelCode *c)
{
    walk(c, 0, c->access[IN], c->access[OUT]);
}
