#include "ir/build.h"

#include <assert.h>

static Op *done(Func *f, Op *op)
{
    Diag d = {.out = stderr};
    bool ok = op_infer(f, op, &d);
    assert(ok);
    (void)ok;
    return op;
}

Op *build(Func *f, OpCode code, int n, Op *const operand[])
{
    return done(f, func_add(f, code, n, operand));
}

Op *build_unary(Func *f, OpCode code, Op *x)
{
    return build(f, code, 1, &x);
}

Op *build_binary(Func *f, OpCode code, Op *x, Op *y)
{
    return build(f, code, 2, (Op *[]){x, y});
}

Op *build_compare(Func *f, const char *dir, Op *x, Op *y)
{
    Op *op = func_add(f, OP_compare, 2, (Op *[]){x, y});
    op_set_str(f, op, A_dir, dir);
    return done(f, op);
}

Op *build_select(Func *f, Op *which, Op *x, Op *y)
{
    return build(f, OP_select, 3, (Op *[]){which, x, y});
}

Op *build_constant(Func *f, const Type *t, double x)
{
    Op *op = func_add(f, OP_constant, 0, NULL);
    op->type = *t;
    op_set_floats(f, op, A_value, 1, &x);
    return done(f, op);
}

Op *build_like(Func *f, const Op *like, double x)
{
    return build_constant(f, &like->type, x);
}

Op *build_zeros(Func *f, const Type *t)
{
    return build_constant(f, t, 0);
}

Op *build_scale(Func *f, Op *x, double by)
{
    return build_binary(f, OP_multiply, x, build_like(f, x, by));
}

Op *build_convert(Func *f, Op *x, DType to)
{
    if (x->type.dtype == to)
        return x;
    Op *op = func_add(f, OP_convert, 1, &x);
    op->type = x->type;
    op->type.dtype = to;
    return done(f, op);
}

Op *build_broadcast(Func *f, Op *x, const Type *to, const int64_t dims[])
{
    Op *op = func_add(f, OP_broadcast, 1, &x);
    op->type = *to;
    op->type.dtype = x->type.dtype;
    op_set_ints(f, op, A_dims, x->type.rank, dims);
    return done(f, op);
}

Op *build_reduce(Func *f, OpCode code, Op *x, int n, const int64_t dims[])
{
    if (n == 0)
        return x;
    Op *op = func_add(f, code, 1, &x);
    op_set_ints(f, op, A_dims, n, dims);
    return done(f, op);
}

Op *build_cumsum(Func *f, Op *x, int dim, bool is_reverse)
{
    Op *op = func_add(f, OP_cumsum, 1, &x);
    op_set_int(f, op, A_dim, dim);
    if (is_reverse)
        op_set_int(f, op, A_reverse, 1);
    return done(f, op);
}

Op *build_transpose(Func *f, Op *x, const int64_t dims[])
{
    Op *op = func_add(f, OP_transpose, 1, &x);
    op_set_ints(f, op, A_dims, x->type.rank, dims);
    return done(f, op);
}

Op *build_reshape(Func *f, Op *x, const Type *to)
{
    Op *op = func_add(f, OP_reshape, 1, &x);
    op->type = *to;
    op->type.dtype = x->type.dtype;
    return done(f, op);
}

Op *build_slice(Func *f, Op *x, const int64_t lo[], const int64_t hi[])
{
    Op *op = func_add(f, OP_slice, 1, &x);
    op_set_ints(f, op, A_starts, x->type.rank, lo);
    op_set_ints(f, op, A_limits, x->type.rank, hi);
    return done(f, op);
}

Op *build_pad(Func *f, Op *x, int dim, int64_t low, int64_t high)
{
    Op *op = func_add(f, OP_pad, 1, &x);
    op_set_int(f, op, A_dim, dim);
    op_set_int(f, op, A_high, high);
    if (low)
        op_set_int(f, op, A_low, low);
    return done(f, op);
}

Op *build_concat(Func *f, int dim, int n, Op *const part[])
{
    Op *op = func_add(f, OP_concat, n, part);
    op_set_int(f, op, A_dim, dim);
    return done(f, op);
}

Op *build_einsum(Func *f, const char *spec, Op *x, Op *y, const char *dtype)
{
    Op *op = func_add(f, OP_einsum, 2, (Op *[]){x, y});
    op_set_str(f, op, A_spec, spec);
    if (dtype)
        op_set_str(f, op, A_dtype, dtype);
    return done(f, op);
}

Op *build_iota(Func *f, const Type *t, int dim)
{
    Op *op = func_add(f, OP_iota, 0, NULL);
    op->type = *t;
    op_set_int(f, op, A_dim, dim);
    return done(f, op);
}

Op *build_result(Func *f, Op *loop, int index)
{
    if (index == 0)
        return loop;
    Op *op = func_add(f, OP_result, 1, &loop);
    op_set_int(f, op, A_index, index);
    return done(f, op);
}

Op *build_shard(Func *f, Op *x, const Sharding *s)
{
    Op *op = func_add(f, OP_shard, 1, &x);
    op->sharding = *s;
    return done(f, op);
}

Op *build_sum(Func *f, Op *x, Op *y)
{
    return !x ? y : !y ? x : build_binary(f, OP_add, x, y);
}
