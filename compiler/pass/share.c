// Moving the users of one value together.
//
// A sweep looks at one op. Where three products each would rather combine
// their own partial result than pay for a gather of what they all read, the
// gather may still be the cheaper one, paid once. So for every value with
// several users and every axis that splits it and leaves one of them pending:
// suppose the value were there without that axis, let every user take it so,
// and keep the outcome if the whole function is cheaper for it.
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

// A trial changes the placements that the journal lists; what they cost
// changes for these ops and for what they read.
typedef struct Trial {
    PassContext *c;
    FuncState *s;
    Changes undone; // the placements that were tried
    VEC(int) touched;
    bool *is_touched; // by id
} Trial;

static void touch(Trial *t, int id)
{
    if (!t->is_touched[id])
        vec_push(t->c->arena, &t->touched, id);
    t->is_touched[id] = true;
}

static void find_touched(Trial *t)
{
    for (int i = 0; i < t->touched.n; i++)
        t->is_touched[t->touched.at[i]] = false;
    t->touched.n = 0;
    for (int i = 0; i < t->s->journal.n; i++) {
        const Op *op = t->s->func->ops.at[t->s->journal.at[i].id];
        touch(t, op->id);
        for (int k = 0; k < op->noperand; k++)
            touch(t, op->operand[k]->id);
    }
}

static double price_touched(const Trial *t)
{
    double price = 0;
    for (int i = 0; i < t->touched.n; i++)
        price += price_value(t->s, t->touched.at[i]);
    return price;
}

// Goes back to what was before, and keeps what was tried.
static void undo(Trial *t)
{
    FuncState *s = t->s;
    t->undone.n = 0;
    s->keeps_journal = false;
    for (int i = 0; i < s->journal.n; i++)
        note_change(t->c->arena, &t->undone, s, s->journal.at[i].id);
    for (int i = s->journal.n - 1; i >= 0; i--)
        set_placement(s, s->journal.at[i].id, &s->journal.at[i].before);
}

static void redo(Trial *t)
{
    for (int i = 0; i < t->undone.n; i++)
        set_placement(t->s, t->undone.at[i].id, &t->undone.at[i].before);
}

// Lets the users take the value as `shared`; true if the function is cheaper
// then. Else all is as it was.
static bool try_shared(Trial *t, const Op *value, const Sharding *shared)
{
    OpState *v = &t->s->op[value->id];
    bool moved = false;
    t->s->journal.n = 0;
    t->s->keeps_journal = true;
    v->shared = shared;
    for (int i = 0; i < v->uses.n; i++)
        if (!t->s->op[v->uses.at[i].user].is_fixed)
            moved |= place_on_shared(t->c, t->s, v->uses.at[i].user, value);
    v->shared = NULL;
    t->s->keeps_journal = false;
    if (!moved)
        return false;
    find_touched(t);
    double after = price_touched(t);
    undo(t);
    if (after >= price_touched(t) * (1 - 1e-9))
        return false;
    redo(t);
    return true;
}

bool share_demands(PassContext *c, FuncState *s)
{
    const Mesh *m = &s->func->module->mesh;
    bool better = false;
    Trial t = {c, s, .is_touched = arena_new(c->arena, bool,
                                             (size_t)s->func->ops.n)};
    for_each_op (op, s->func) {
        for (int axis = 0; axis < m->naxis && s->op[op->id].uses.n > 1;
             axis++) {
            if (!leaves_pending(s, &s->op[op->id], axis_atoms(m, axis)))
                continue;
            Sharding shared =
                without_axis(m, &s->op[op->id].out, op->type.rank, axis);
            if (!sharding_equal(&shared, &s->op[op->id].out, op->type.rank))
                better |= try_shared(&t, op, &shared);
        }
    }
    return better;
}
