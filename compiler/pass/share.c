// Moving the users of one value together.
//
// A sweep looks at one op. Where three products each would rather combine
// their own partial result than pay for a gather of what they all read, the
// gather may still be the cheaper one, paid once. So for every value with
// several users and every axis that splits it and leaves one of them pending:
// suppose the value were there without that axis, let every user take it so,
// and keep the outcome if the whole function is cheaper for it.
#include <string.h>

#include "pass/solve.h"

// Whether a user pays for the axis by a pending result.
static bool leaves_pending(const FuncState *s, const OpState *v, AtomSet atoms)
{
    for (int i = 0; i < v->uses.n; i++)
        if (s->op[v->uses.at[i].user].out.partial & atoms)
            return true;
    return false;
}

static AtomSet axis_atoms(const Mesh *m, int axis)
{
    Split s = split_of_axis(m, axis);
    return split_atoms(&s);
}

// The splits of a value without the atoms of one axis.
static Sharding without_axis(const Mesh *m, const Sharding *s, int rank,
                             int axis)
{
    Sharding out = *s;
    AtomSet atoms = axis_atoms(m, axis);
    out.partial &= ~atoms;
    for (int i = 0; i < rank; i++)
        split_take_out(m, &out.dim[i], atoms & split_atoms(&out.dim[i]));
    return out;
}

// The placements of all ops, to go back to.
typedef struct Trial {
    PassContext *c;
    FuncState *s;
    Placement *saved;
    double price;
} Trial;

static void save(Trial *t)
{
    for (int i = 0; i < t->s->func->ops.n; i++)
        t->saved[i] = t->s->op[i].placement;
    t->price = price_func(t->s);
}

static void restore(Trial *t)
{
    for (int i = 0; i < t->s->func->ops.n; i++)
        if (!t->s->op[i].is_fixed &&
            memcmp(&t->s->op[i].placement, &t->saved[i], sizeof *t->saved))
            set_placement(t->s, i, &t->saved[i]);
}

// Lets the users take the value as `shared`; true if the function is cheaper
// then. Else all is as it was.
static bool try_shared(Trial *t, const Op *value, const Sharding *shared)
{
    OpState *v = &t->s->op[value->id];
    bool moved = false;
    v->shared = shared;
    for (int i = 0; i < v->uses.n; i++)
        if (!t->s->op[v->uses.at[i].user].is_fixed)
            moved |= place_on_shared(t->c, t->s, v->uses.at[i].user, value);
    v->shared = NULL;
    if (!moved)
        return false;
    if (price_func(t->s) < t->price * (1 - 1e-9)) {
        save(t);
        return true;
    }
    restore(t);
    return false;
}

bool share_demands(PassContext *c, FuncState *s)
{
    const Mesh *m = &s->func->module->mesh;
    bool better = false;
    Trial t = {c, s, arena_new(c->arena, Placement, (size_t)s->func->ops.n), 0};
    save(&t);
    for_each_op (op, s->func) {
        for (int axis = 0; axis < m->naxis && s->op[op->id].uses.n > 1;
             axis++) {
            Sharding shared =
                without_axis(m, &s->op[op->id].out, op->type.rank, axis);
            if (!sharding_equal(&shared, &s->op[op->id].out, op->type.rank) &&
                leaves_pending(s, &s->op[op->id], axis_atoms(m, axis)))
                better |= try_shared(&t, op, &shared);
        }
    }
    return better;
}
