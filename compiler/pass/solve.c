#include "pass/solve.h"

#include "ir/loop.h"

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
        o->placement = placement_new(a, o->rule);
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
        int carrier = user->placement->carrier;
        bool carries =
            carrier == ALL_OPERANDS || carrier == o->uses.at[i].operand + 1;
        if (!user->is_placed || !carries ||
            !(user->placement->carried & ~o->out.partial))
            continue;
        Placement less;
        placement_copy(&less, user->placement, user->rule);
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

void note_change(Arena *a, Changes *list, const FuncState *s, int id)
{
    const OpState *o = &s->op[id];
    if (list->n == list->cap)
        list->at = vec_grow(a, list->at, &list->cap, sizeof list->at[0]);
    Change *c = &list->at[list->n++];
    c->id = id;
    placement_copy(&c->before, o->placement, o->rule);
}

void set_placement(FuncState *s, int id, const Placement *p)
{
    const Op *op = s->func->ops.at[id];
    OpState *o = &s->op[id];
    if (s->keeps_journal)
        note_change(s->func->module->arena, &s->journal, s, id);
    placement_copy(o->placement, p, o->rule);
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

static void start_search(Best *b, const FuncState *s, int id, const Op *value)
{
    b->s = s;
    b->id = id;
    b->value = value;
    b->price = b->second_price = DBL_MAX; // p, second: not there yet
}

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
    const Rule *r = b->s->op[b->id].rule;
    double price = price_placement(b->s, b->id, p);
    if (price < b->price * (1 - 1e-9)) {
        placement_copy(&b->second, &b->p, r);
        b->second_price = b->price;
        placement_copy(&b->p, p, r);
        b->price = price;
    } else if (price < b->second_price) {
        placement_copy(&b->second, p, r);
        b->second_price = price;
    }
}

bool place_op(PassContext *c, FuncState *s, int id)
{
    OpState *o = &s->op[id];
    Best b;
    start_search(&b, s, id, NULL);
    double before =
        o->is_placed ? price_placement(s, id, o->placement) : DBL_MAX;
    for_each_candidate(c, s, id, try_candidate, &b);
    o->has_runner = b.second_price < DBL_MAX;
    if (o->has_runner && c->explain) {
        if (!o->runner)
            o->runner = placement_new(c->arena, o->rule);
        placement_copy(o->runner, &b.second, o->rule);
    }
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

// Where the solved body of a loop leaves a result.
static Sharding loop_result(const FuncState *s, const Op *loop, int index)
{
    const FuncState *body = s->body[loop->id];
    Sharding left = body->result_demand[index];
    return index < (int)op_int(loop, A_carry, 0)
               ? left
               : sharding_of_stack(&left,
                                   body->func->results.at[index]->type.rank);
}

// A stack is stored as it is given, whole along the layers; what is carried,
// and what is left behind, has the placement that the body gives it.
static void place_loop(PassContext *c, FuncState *s, const Op *op)
{
    OpState *o = &s->op[op->id];
    Loop l = loop_of(s->func->module, op);
    for (int t = 0; t < op->noperand; t++) {
        const Op *value = op->operand[t];
        Op *param = l.body->ops.at[t];
        Sharding in = without_partial(&s->op[value->id].out);
        param->sharding = loop_stacks_operand(&l, t)
                              ? sharding_of_slice(&in, value->type.rank)
                              : in;
        if (op_str(value, A_class))
            op_set_str(l.body, param, A_class, op_str(value, A_class));
    }
    s->body[op->id] = solve_func(c, l.body, l.carry);
    for (int t = 0; t < op->noperand; t++) {
        const Op *param = l.body->ops.at[t];
        o->demand[t] =
            loop_stacks_operand(&l, t)
                ? sharding_of_stack(&param->sharding, param->type.rank)
                : param->sharding;
    }
    o->out = loop_result(s, op, 0);
    o->is_placed = o->is_fixed = true;
}

// A further result is where the loop leaves it.
static void place_result(FuncState *s, const Op *op)
{
    OpState *o = &s->op[op->id];
    int index;
    const Op *loop = result_loop(op, &index);
    o->out = loop_result(s, loop, index);
    o->demand[0] = s->op[loop->id].out;
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
            place_loop(c, s, op);
        else if (op_role(op) == ROLE_result)
            place_result(s, op);
        else
            place_op(c, s, op->id);
    }
}

bool place_on_shared(PassContext *c, FuncState *s, int id, const Op *value)
{
    Best b;
    start_search(&b, s, id, value);
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

// Gives the carried params the placement that the body leaves them in; false
// if they have it.
static bool close_loop(FuncState *s, int carry)
{
    bool changed = false;
    for (int i = 0; i < carry; i++) {
        Op *param = s->func->ops.at[i];
        Sharding end = without_partial(&s->op[s->func->results.at[i]->id].out);
        if (sharding_equal(&end, &param->sharding, param->type.rank))
            continue;
        param->sharding = end;
        changed = true;
    }
    return changed;
}

FuncState *solve_func(PassContext *c, Func *f, int carry)
{
    FuncState *s = new_state(c, f);
    for (int i = 0; i < carry; i++)
        if (op_role(f->results.at[i]) == ROLE_wish)
            f->ops.at[i]->sharding = f->results.at[i]->sharding;
    find_hints(s);
    place_forward(c, s);
    if (close_loop(s, carry)) {
        forget(s);
        place_forward(c, s);
    }
    sweep(c, s);
    for (int n = 0; n < MAX_SWEEPS && share_demands(c, s); n++)
        sweep(c, s);
    for (int i = 0; i < f->results.n; i++)
        s->result_demand[i] =
            i < carry ? f->ops.at[i]->sharding
                      : without_partial(&s->op[f->results.at[i]->id].out);
    return s;
}
