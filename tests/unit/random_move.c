// The makers of ops that only move data.
#include <string.h>

#include "random.h"

static Value *make_broadcast(Gen *g)
{
    Value *a = pick(g, NDTYPE);
    const Type *in = &a->op->type;
    Type t = {.dtype = in->dtype, .rank = in->rank + below(g, 3)};
    int64_t dims[MAX_RANK], order[MAX_RANK];
    if (t.rank > 4)
        return NULL;
    for (int i = 0; i < t.rank; i++) {
        order[i] = i;
        t.dim[i] = random_size(g);
    }
    // Any distinct dimensions; mostly in order.
    for (int i = 0; i < in->rank; i++) {
        int k = i + below(g, t.rank - i);
        dims[i] = order[k];
        order[k] = order[i];
        t.dim[dims[i]] = in->dim[i];
    }
    Op *op = begin(g, OP_broadcast, 1, &a);
    op->type = t;
    op_set_ints(g->ops, op, A_dims, in->rank, dims);
    return keep(g, op, a->fraction);
}

static Value *make_transpose(Gen *g)
{
    Value *a = pick(g, NDTYPE);
    int64_t dims[MAX_RANK];
    int rank = a->op->type.rank;
    for (int i = 0; i < rank; i++)
        dims[i] = i;
    for (int i = rank - 1; i > 0; i--) {
        int k = below(g, i + 1);
        int64_t d = dims[i];
        dims[i] = dims[k];
        dims[k] = d;
    }
    Op *op = begin(g, OP_transpose, 1, &a);
    op_set_ints(g->ops, op, A_dims, rank, dims);
    return keep(g, op, a->fraction);
}

static void insert_dim(Type *t, int at, int64_t size)
{
    memmove(t->dim + at + 1, t->dim + at,
            sizeof t->dim[0] * (size_t)(t->rank - at));
    t->dim[at] = size;
    t->rank++;
}

static void remove_dim(Type *t, int at)
{
    t->rank--;
    memmove(t->dim + at, t->dim + at + 1,
            sizeof t->dim[0] * (size_t)(t->rank - at));
    t->dim[t->rank] = 0;
}

static void merge(Gen *g, Type *t)
{
    if (t->rank < 2)
        return;
    int i = below(g, t->rank - 1);
    int64_t size = t->dim[i] * t->dim[i + 1];
    remove_dim(t, i);
    t->dim[i] = size;
}

static void cut(Gen *g, Type *t)
{
    if (!t->rank || t->rank > 4)
        return;
    int i = below(g, t->rank), by = 2 + below(g, 3);
    if (t->dim[i] % by)
        return;
    int64_t rest = t->dim[i] / by;
    bool outer = chance(g, 50);
    t->dim[i] = outer ? by : rest;
    insert_dim(t, i + 1, outer ? rest : by);
}

static void swap(Gen *g, Type *t)
{
    if (t->rank < 2)
        return;
    int i = below(g, t->rank - 1);
    int64_t size = t->dim[i];
    t->dim[i] = t->dim[i + 1];
    t->dim[i + 1] = size;
}

static Value *make_reshape(Gen *g)
{
    Value *a = pick(g, NDTYPE);
    Type t = a->op->type;
    for (int n = 1 + below(g, 3); n > 0; n--) {
        int how = below(g, 10);
        if (how < 4)
            merge(g, &t);
        else if (how < 7)
            cut(g, &t);
        else if (how < 8)
            swap(g, &t);
        else if (how < 9 && t.rank < 4)
            insert_dim(&t, below(g, t.rank + 1), 1);
        else
            for (int i = t.rank - 1; i >= 0; i--)
                if (t.dim[i] == 1)
                    remove_dim(&t, i);
    }
    Op *op = begin(g, OP_reshape, 1, &a);
    op->type = t;
    return keep(g, op, a->fraction);
}

static Value *make_slice(Gen *g)
{
    Value *a = pick(g, NDTYPE);
    int64_t lo[MAX_RANK], hi[MAX_RANK];
    const Type *t = &a->op->type;
    for (int i = 0; i < t->rank; i++) {
        lo[i] = 0;
        hi[i] = t->dim[i];
        if (chance(g, 50))
            continue;
        lo[i] = below(g, (int)t->dim[i] + 1);
        hi[i] = lo[i] + below(g, (int)(t->dim[i] - lo[i]) + 1);
        if (hi[i] == lo[i] && chance(g, 95))
            lo[i] = 0, hi[i] = t->dim[i];
    }
    Op *op = begin(g, OP_slice, 1, &a);
    op_set_ints(g->ops, op, A_starts, t->rank, lo);
    op_set_ints(g->ops, op, A_limits, t->rank, hi);
    return keep(g, op, a->fraction);
}

static Value *make_pad(Gen *g)
{
    Value *a = pick(g, NDTYPE);
    if (!a->op->type.rank)
        return NULL;
    Op *op = begin(g, OP_pad, 1, &a);
    op_set_int(g->ops, op, A_dim, below(g, a->op->type.rank));
    op_set_int(g->ops, op, A_high, below(g, 4));
    if (chance(g, 50))
        op_set_int(g->ops, op, A_low, below(g, 4));
    return keep(g, op, a->fraction);
}

static Value *make_concat(Gen *g)
{
    Value *in[3] = {pick(g, NDTYPE)};
    int n = 1 + below(g, 3), rank = in[0]->op->type.rank;
    if (!rank)
        return NULL;
    int dim = below(g, rank);
    for (int i = 1; i < n; i++) {
        Type t = in[0]->op->type;
        if (chance(g, 30))
            t.dim[dim] = random_size(g);
        in[i] = pick_like(g, &t);
        if (!in[i])
            return NULL;
    }
    Op *op = begin(g, OP_concat, n, in);
    op_set_int(g->ops, op, A_dim, dim);
    return keep(g, op, fraction_of(g, op));
}

Value *make_moved(Gen *g)
{
    switch (below(g, 8)) {
    case 0:
    case 1: return make_broadcast(g);
    case 2: return make_transpose(g);
    case 3:
    case 4: return make_reshape(g);
    case 5: return make_slice(g);
    case 6: return make_pad(g);
    default: return make_concat(g);
    }
}
