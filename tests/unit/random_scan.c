// The maker of loops: a body of a few random ops on what it carries, an
// invariant and slices of stacks.
#include <string.h>

#include "random.h"

static void begin_body(Gen *g, Gen *body, Value *const in[], int n, int stacked)
{
    *body = *g;
    body->is_body = true;
    body->params = func_new(g->module, "body_params");
    body->ops = func_new(g->module, "body_ops");
    body->values.at = NULL;
    body->values.n = body->values.cap = 0;
    for (int i = 0; i < n; i++) {
        Type t = in[i]->op->type;
        if (i >= n - stacked) {
            t.rank--;
            memmove(t.dim, t.dim + 1, sizeof t.dim[0] * (size_t)t.rank);
            t.dim[t.rank] = 0;
        }
        new_param(body, &t);
    }
}

// What the body carries on: bounded, of the type of its first param.
static Value *end_body(Gen *body)
{
    const Type *t = &body->values.at[0]->op->type;
    Value *last = NULL;
    for (int i = 0; i < body->values.n; i++)
        if (type_equal(&body->values.at[i]->op->type, t))
            last = body->values.at[i];
    if (chance(body, 80))
        last = make_unary(body, OP_tanh, last, INEXACT);
    Value *sharded =
        chance(body, 30) ? make_unary(body, OP_shard, last, INEXACT) : NULL;
    if (sharded)
        sharded->op->sharding = random_sharding(body, t, false);
    return sharded ? sharded : last;
}

Value *make_scan(Gen *g)
{
    Value *in[5] = {pick(g, random_float(g))};
    int64_t trip = 1 + below(g, 3);
    int n = 1, stacked = below(g, 3);
    if (g->is_body || in[0]->op->type.rank > 3)
        return NULL;
    if (chance(g, 50))
        in[n++] = pick(g, NDTYPE);
    for (int i = 0; i < stacked; i++) {
        Type t = in[0]->op->type;
        memmove(t.dim + 1, t.dim, sizeof t.dim[0] * (size_t)t.rank++);
        t.dim[0] = trip;
        if (t.rank > 1 && chance(g, 50))
            t.dim[1 + below(g, t.rank - 1)] = random_size(g);
        in[n] = pick_like(g, &t);
        if (!in[n++])
            return NULL;
    }
    Gen body;
    begin_body(g, &body, in, n, stacked);
    for (int made = 0, tries = 0; made < 3 && tries < 10; tries++)
        made += random_op(&body);
    Value *carried = end_body(&body);
    g->state = body.state;
    const char *name = arena_printf(g->arena, "body%d", g->module->funcs.n);
    assemble(&body, g->module, name, 1, &carried);
    Op *op = begin(g, OP_scan, n, in);
    op_set_str(g->ops, op, A_body, name);
    op_set_int(g->ops, op, A_trip, trip);
    op_set_int(g->ops, op, A_carry, 1);
    op_set_int(g->ops, op, A_stacked, stacked);
    return keep(g, op, INEXACT);
}
