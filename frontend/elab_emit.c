// Emitting ops into the function that is being built.
#include <string.h>

#include "frontend/elab.h"

static const double MAX_ELEMENTS = 1e15;

Op *emit(Elab *e, Span at, OpCode code, int n, Op *const operand[])
{
    for (int i = 0; i < n; i++)
        if (!operand[i])
            return NULL;
    Op *op = func_add(e->func, code, n, operand);
    if (at.source != e->last_at.source || at.start != e->last_at.start ||
        !e->last_place) {
        e->last_at = at;
        e->last_place = span_place(e->module->arena, at);
    }
    op->at = at;
    op->place = *e->last_place ? e->last_place : NULL;
    return op;
}

static bool is_too_large(const Type *t)
{
    double n = 1;
    for (int i = 0; i < t->rank; i++)
        n *= (double)t->dim[i];
    return n > MAX_ELEMENTS;
}

bool emit_done(Elab *e, Op *op)
{
    if (!op || !op_infer(e->func, op, e->diag))
        return false;
    if (!is_too_large(&op->type))
        return true;
    elab_fail(e, op->at, "a tensor of more than %g elements", MAX_ELEMENTS);
    return false;
}

static Op *done(Elab *e, Op *op)
{
    return emit_done(e, op) ? op : NULL;
}

Op *emit_unary(Elab *e, Span at, OpCode code, Op *x)
{
    return done(e, emit(e, at, code, 1, (Op *[]){x}));
}

Op *emit_binary(Elab *e, Span at, OpCode code, Op *x, Op *y)
{
    return done(e, emit(e, at, code, 2, (Op *[]){x, y}));
}

Op *emit_constant(Elab *e, Span at, const Type *t, double x)
{
    Op *op = emit(e, at, OP_constant, 0, NULL);
    op->type = *t;
    op_set_floats(e->func, op, A_value, 1, &x);
    return done(e, op);
}

Op *emit_convert(Elab *e, Span at, Op *x, DType to)
{
    if (!x || x->type.dtype == to)
        return x;
    Op *op = emit(e, at, OP_convert, 1, &x);
    op->type = x->type;
    op->type.dtype = to;
    return done(e, op);
}

Op *emit_iota(Elab *e, Span at, int64_t n)
{
    Op *op = emit(e, at, OP_iota, 0, NULL);
    op->type = (Type){.dtype = DT_i32, .rank = 1, .dim = {n}};
    op_set_int(e->func, op, A_dim, 0);
    return done(e, op);
}

Op *emit_reshape(Elab *e, Span at, Op *x, const Type *t)
{
    Op *op = emit(e, at, OP_reshape, 1, &x);
    if (!op)
        return NULL;
    op->type = *t;
    op->type.dtype = x->type.dtype;
    return done(e, op);
}

Op *emit_slice(Elab *e, Span at, Op *x, const int64_t lo[], const int64_t hi[])
{
    bool all = true;
    for (int i = 0; x && i < x->type.rank; i++)
        all &= lo[i] == 0 && hi[i] == x->type.dim[i];
    if (!x || all)
        return x;
    Op *op = emit(e, at, OP_slice, 1, &x);
    op_set_ints(e->func, op, A_starts, x->type.rank, lo);
    op_set_ints(e->func, op, A_limits, x->type.rank, hi);
    return done(e, op);
}

Op *emit_reduce(Elab *e, Span at, OpCode code, Op *x, int n,
                const int64_t dims[])
{
    Op *op = emit(e, at, code, 1, &x);
    if (!op)
        return NULL;
    op_set_ints(e->func, op, A_dims, n, dims);
    return done(e, op);
}

Op *emit_shard(Elab *e, Span at, Op *x, const Sharding *s)
{
    Op *op = emit(e, at, OP_shard, 1, &x);
    if (!op)
        return NULL;
    op->sharding = *s;
    return done(e, op);
}

static Op *transpose(Elab *e, Span at, Op *x, const int64_t dims[])
{
    bool same = true;
    for (int i = 0; i < x->type.rank; i++)
        same &= dims[i] == i;
    if (same)
        return x;
    Op *op = emit(e, at, OP_transpose, 1, &x);
    op_set_ints(e->func, op, A_dims, x->type.rank, dims);
    return done(e, op);
}

Op *emit_arrange(Elab *e, Span at, Op *x, int rank, const int from[],
                 const int64_t dim[])
{
    int64_t order[MAX_RANK] = {0}, place[MAX_RANK];
    int n = 0;
    for (int i = 0; x && i < rank; i++) {
        if (from[i] >= 0) {
            order[n] = from[i];
            place[n++] = i;
        }
    }
    if (!x || !(x = transpose(e, at, x, order)) || n == rank)
        return x;
    Op *op = emit(e, at, OP_broadcast, 1, &x);
    op->type = (Type){.dtype = x->type.dtype, .rank = rank};
    memcpy(op->type.dim, dim, sizeof *dim * (size_t)rank);
    op_set_ints(e->func, op, A_dims, n, place);
    return done(e, op);
}

static void renumber(Func *f)
{
    for (int i = 0; i < f->ops.n; i++)
        f->ops.at[i]->id = i;
}

// Weights are declared in the midst of other ops; params come first.
Op *emit_param(Elab *e, Func *f, Span at, int position, const char *name,
               const Type *t)
{
    Arena *a = f->module->arena;
    Op *op = arena_new(a, Op, 1);
    op->code = OP_param;
    op->name = func_unique_name(f, name);
    op->type = *t;
    op->at = at;
    op->place = span_place(a, at);
    vec_push(a, &f->ops, op);
    memmove(f->ops.at + position + 1, f->ops.at + position,
            sizeof(Op *) * (size_t)(f->ops.n - 1 - position));
    f->ops.at[position] = op;
    f->nparam++;
    renumber(f);
    if (is_too_large(t))
        elab_fail(e, at, "a tensor of more than %g elements", MAX_ELEMENTS);
    return op;
}

void emit_order_params(Func *f, int n, Op *const order[])
{
    memcpy(f->ops.at, order, sizeof(Op *) * (size_t)n);
    renumber(f);
}
