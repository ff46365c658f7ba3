#include "pass/solve.h"

#include <float.h>
#include <stddef.h>

enum {
    MAX_SWEEPS = 8,
};

static const Mesh *mesh_of(const FuncState *s)
{
    return &s->func->module->mesh;
}

static FuncState *new_state(PassContext *c, Func *f)
{
    Arena *a = c->arena;
    FuncState *s = arena_new(a, FuncState, 1);
    s->func = f;
    s->op = arena_new(a, OpState, (size_t)f->ops.n);
    s->body = arena_new(a, FuncState *, (size_t)f->ops.n);
    s->prices = arena_new(a, PriceEntry, NPRICE);
    s->result_demand = arena_new(a, Sharding, (size_t)f->results.n);
    for_each_op (op, f) {
        OpState *o = &s->op[op->id];
        o->demand = arena_new(a, Sharding, (size_t)op->noperand);
        if (op_info[op->code]->rule) {
            o->rule = arena_new(a, Rule, 1);
            op_info[op->code]->rule(op, o->rule);
        }
        for (int t = 0; t < op->noperand; t++)
            vec_push(a, &s->op[op->operand[t]->id].uses, ((Use){op->id, t}));
    }
    return s;
}

// --- hints -------------------------------------------------------------------

static void give_hint(FuncState *s, const Op *value, const Sharding *hint,
                      bool is_open)
{
    OpState *v = &s->op[value->id];
    if (!v->has_hint && op_role(value) != ROLE_argument) {
        v->has_hint = true;
        v->hint = *hint;
        v->is_hint_open = is_open;
    }
}

// What the hint on an op's result means for its operands.
static void hint_operands(FuncState *s, const Op *op)
{
    const OpState *o = &s->op[op->id];
    Placement p = {0};
    if (!o->rule || !o->has_hint)
        return;
    factors_from_sharding(mesh_of(s), o->rule, op->noperand, op->type.rank,
                          &o->hint, p.factor);
    for (int t = 0; t < op->noperand; t++) {
        Sharding in = placement_of(mesh_of(s), op, o->rule, t, &p);
        if (sharding_split_atoms(&in, op->operand[t]->type.rank))
            give_hint(s, op->operand[t], &in, true);
    }
}

// From wishes backward, last op first.
static void find_hints(FuncState *s)
{
    const Func *f = s->func;
    for (int i = f->ops.n - 1; i >= 0; i--) {
        const Op *op = f->ops.at[i];
        if (op_role(op) == ROLE_wish)
            give_hint(s, op->operand[0], &op->sharding, false);
        else
            hint_operands(s, op);
    }
}

// --- one op ------------------------------------------------------------------

// A user that carried a pending sum which is no longer there does not.
static void drop_carried(FuncState *s, int id)
{
    const OpState *o = &s->op[id];
    for (int i = 0; i < o->uses.n; i++) {
        OpState *user = &s->op[o->uses.at[i].user];
        int carrier = user->placement.carrier;
        bool carries =
            carrier == ALL_OPERANDS || carrier == o->uses.at[i].operand + 1;
        if (!user->is_placed || !carries ||
            !(user->placement.carried & ~o->out.partial))
            continue;
        Placement less = user->placement;
        less.carried &= o->out.partial;
        set_placement(s, o->uses.at[i].user, &less);
    }
}

static void mark_users(FuncState *s, int id)
{
    const OpState *o = &s->op[id];
    for (int i = 0; i < o->uses.n; i++)
        s->op[o->uses.at[i].user].is_stale = true;
}

// What may choose again when op `id` has changed: its users, what it reads,
// and who else reads that.
static void mark_stale(FuncState *s, int id)
{
    const Op *op = s->func->ops.at[id];
    mark_users(s, id);
    for (int t = 0; t < op->noperand; t++) {
        s->op[op->operand[t]->id].is_stale = true;
        mark_users(s, op->operand[t]->id);
    }
}

void set_placement(FuncState *s, int id, const Placement *p)
{
    const Op *op = s->func->ops.at[id];
    OpState *o = &s->op[id];
    o->placement = *p;
    o->is_placed = true;
    o->out = placement_of(mesh_of(s), op, o->rule, op->noperand, p);
    for (int t = 0; t < op->noperand; t++)
        o->demand[t] = placement_of(mesh_of(s), op, o->rule, t, p);
    mark_stale(s, id);
    drop_carried(s, id);
}

typedef struct Best {
    const FuncState *s;
    int id;
    const Op *value; // an operand that must be asked for as it is shared
    Placement p, second;
    double price, second_price;
} Best;

static bool asks_shared(const Best *b, const Placement *p)
{
    const Op *op = b->s->func->ops.at[b->id];
    for (int t = 0; t < op->noperand; t++) {
        Sharding want =
            placement_of(mesh_of(b->s), op, b->s->op[b->id].rule, t, p);
        if (op->operand[t] == b->value &&
            !sharding_equal(&want, b->s->op[b->value->id].shared,
                            b->value->type.rank))
            return false;
    }
    return true;
}

static void try_candidate(void *user, const Placement *p)
{
    Best *b = user;
    if (b->value && !asks_shared(b, p))
        return;
    double price = price_placement(b->s, b->id, p);
    if (price < b->price * (1 - 1e-9)) {
        b->second = b->p;
        b->second_price = b->price;
        b->p = *p;
        b->price = price;
    } else if (price < b->second_price) {
        b->second = *p;
        b->second_price = price;
    }
}

bool place_op(PassContext *c, FuncState *s, int id)
{
    OpState *o = &s->op[id];
    Best b = {.s = s, .id = id, .price = DBL_MAX, .second_price = DBL_MAX};
    double before =
        o->is_placed ? price_placement(s, id, &o->placement) : DBL_MAX;
    for_each_candidate(c, s, id, try_candidate, &b);
    o->has_runner = b.second_price < DBL_MAX;
    o->runner = b.second;
    o->runner_price = b.second_price;
    o->price = b.price;
    if (o->is_placed && b.price >= before * (1 - 1e-6))
        return false;
    set_placement(s, id, &b.p);
    return true;
}

// --- loops -------------------------------------------------------------------

static Sharding without_partial(const Sharding *s)
{
    Sharding out = *s;
    out.partial = 0;
    return out;
}

static Sharding of_slice(const Sharding *stack, int rank)
{
    Sharding s = {0};
    for (int i = 1; i < rank; i++)
        s.dim[i - 1] = stack->dim[i];
    return s;
}

static Sharding of_stack(const Sharding *slice, int rank)
{
    Sharding s = {0};
    for (int i = 1; i < rank; i++)
        s.dim[i] = slice->dim[i - 1];
    return s;
}

// A stack is stored as it is given, whole along the layers; what is carried
// has the placement that the body leaves it in.
static void place_scan(PassContext *c, FuncState *s, const Op *op)
{
    OpState *o = &s->op[op->id];
    Func *body = module_find(s->func->module, op_str(op, A_body));
    int first = op->noperand - (int)op_int(op, A_stacked, 0);
    for (int t = 0; t < op->noperand; t++) {
        const Op *value = op->operand[t];
        Sharding in = without_partial(&s->op[value->id].out);
        body->ops.at[t]->sharding =
            t < first ? in : of_slice(&in, value->type.rank);
        if (op_str(value, A_class))
            op_set_str(body, body->ops.at[t], A_class, op_str(value, A_class));
    }
    s->body[op->id] = solve_func(c, body, true);
    for (int t = 0; t < op->noperand; t++) {
        const Sharding *in = &body->ops.at[t]->sharding;
        o->demand[t] =
            t < first ? *in : of_stack(in, op->operand[t]->type.rank);
    }
    o->out = body->ops.at[0]->sharding;
    o->is_placed = o->is_fixed = true;
}

// --- the function ------------------------------------------------------------

static void place_fixed(FuncState *s, const Op *op)
{
    OpState *o = &s->op[op->id];
    o->out = op->sharding;
    if (op->noperand)
        o->demand[0] = op->sharding;
    o->is_placed = o->is_fixed = true;
}

static void place_forward(PassContext *c, FuncState *s)
{
    for_each_op (op, s->func) {
        if (op_role(op) == ROLE_argument || op_role(op) == ROLE_wish)
            place_fixed(s, op);
        else if (op_role(op) == ROLE_loop)
            place_scan(c, s, op);
        else
            place_op(c, s, op->id);
    }
}

bool place_on_shared(PassContext *c, FuncState *s, int id, const Op *value)
{
    Best b = {.s = s,
              .id = id,
              .value = value,
              .price = DBL_MAX,
              .second_price = DBL_MAX};
    for_each_candidate(c, s, id, try_candidate, &b);
    if (b.price == DBL_MAX)
        return false;
    set_placement(s, id, &b.p);
    return true;
}

static void sweep(PassContext *c, FuncState *s)
{
    bool changed = true;
    for (int n = 0; changed && n < MAX_SWEEPS; n++) {
        changed = false;
        for_each_op (op, s->func) {
            OpState *o = &s->op[op->id];
            if (o->is_fixed || !o->is_stale)
                continue;
            o->is_stale = false;
            changed |= place_op(c, s, op->id);
        }
    }
}

static void forget(FuncState *s)
{
    for_each_op (op, s->func) {
        s->op[op->id].is_placed = false;
        s->op[op->id].is_fixed = false;
    }
}

FuncState *solve_func(PassContext *c, Func *f, bool is_body)
{
    FuncState *s = new_state(c, f);
    if (is_body && op_role(f->results.at[0]) == ROLE_wish)
        f->ops.at[0]->sharding = f->results.at[0]->sharding;
    find_hints(s);
    place_forward(c, s);
    Sharding end = without_partial(&s->op[f->results.at[0]->id].out);
    const Op *carried = f->ops.at[0];
    if (is_body &&
        !sharding_equal(&end, &carried->sharding, carried->type.rank)) {
        f->ops.at[0]->sharding = end;
        forget(s);
        place_forward(c, s);
    }
    sweep(c, s);
    for (int n = 0; n < MAX_SWEEPS && share_demands(c, s); n++)
        sweep(c, s);
    for (int i = 0; i < f->results.n; i++)
        s->result_demand[i] = without_partial(&s->op[f->results.at[i]->id].out);
    if (is_body)
        s->result_demand[0] = carried->sharding;
    return s;
}
