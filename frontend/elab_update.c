// What a step does with the gradients: their norm, the clipping, the rate, and
// the optimizer for each weight. The three functions are the program's own;
// each has parameters that its role fixes, the line in train gives the others:
//   rate       (count)                  count: of steps done before
//   clip       (g, norm)                norm: over all gradients
//   optimizer  (p, g, rate, count)      count: of this step, from 1
#include <string.h>

#include "frontend/elab.h"
#include "ir/op.h"

typedef struct Role_ {
    const char *name;
    int nlead;
    const char *lead;
} RoleInfo;

static const RoleInfo roles[NLINE] = {
    [LINE_clip] = {"clip", 2, "a gradient and the norm of all"},
    [LINE_optimizer] = {"optimizer", 4,
                        "a weight, its gradient, the rate and the number of "
                        "the step"},
    [LINE_rate] = {"rate", 1, "the number of steps done"},
};

static Span line_at(const Step *s, TrainLine line)
{
    const Stmt *const *lines = s->e->line;
    return (lines[line] ? lines[line] : lines[LINE_optimizer])->at;
}

// The function that a line of train names; NULL after an error.
static const Fn *role_fn(Elab *e, TrainLine line)
{
    const Expr *x = e->line[line]->value;
    const RoleInfo *role = &roles[line];
    const Fn *fn = NULL;
    if (x->kind != EXPR_CALL && x->kind != EXPR_NAME && x->kind != EXPR_FIELD)
        elab_fail(e, x->at, "`%s` wants a function", role->name);
    else
        fn = called_fn(e, x);
    if (!fn || fn->params.n >= role->nlead)
        return fn;
    elab_fail(e, x->at,
              "%s has %d parameter%s; a function for `%s` has %d at least: %s",
              fn->name.s, fn->params.n, fn->params.n == 1 ? "" : "s",
              role->name, role->nlead, role->lead);
    return NULL;
}

static Value call_role(Elab *e, const Fn *fn, TrainLine line,
                       const Value lead[])
{
    Expr bare = {.kind = EXPR_CALL, .at = e->line[line]->value->at};
    const Expr *x = e->line[line]->value;
    return call_with(e, fn, roles[line].nlead, lead,
                     x->kind == EXPR_CALL ? x : &bare, (Keep){0});
}

// The result, which must be of the type of `like`; NULL after an error.
static Op *of_type(Elab *e, const Fn *fn, TrainLine line, Value v,
                   const Type *like)
{
    const Mesh *mesh = &e->module->mesh;
    if (v.kind == VALUE_BAD ||
        (v.kind == VALUE_TENSOR && type_equal(&v.op->type, like)))
        return v.op;
    elab_fail(e, e->line[line]->value->at, "%s returns %s, `%s` wants %s",
              fn->name.s,
              v.kind == VALUE_TENSOR
                  ? type_string(e->arena, mesh, &v.op->type, NULL)
                  : kind_text(&v),
              roles[line].name, type_string(e->arena, mesh, like, NULL));
    return NULL;
}

// --- the norm ----------------------------------------------------------------

typedef struct Group { // gradients that are split over the same atoms
    AtomSet atoms;
    Op *sum;
} Group;

static Op *sum_of_squares(Elab *e, Span at, Op *x)
{
    int64_t dims[MAX_RANK];
    for (int i = 0; i < x->type.rank; i++)
        dims[i] = i;
    Op *square = emit_binary(e, at, OP_multiply, x, x);
    return x->type.rank
               ? emit_reduce(e, at, OP_reduce_sum, square, x->type.rank, dims)
               : square;
}

// The norm of all gradients, each distinct entry once. Sums that are pending
// over the same axes are added before they are made whole: one reduction for
// each set of axes.
static Op *norm_of(Step *s, Span at, Op *const x[])
{
    Elab *e = s->e;
    Group *group = arena_new(e->arena, Group, (size_t)s->nweight + 1);
    int n = 0;
    for (int i = 0; i < s->nweight; i++) {
        const Op *w = s->weight[i];
        AtomSet atoms = sharding_split_atoms(&w->sharding, w->type.rank);
        Op *sum = sum_of_squares(e, at, x[i]);
        int k = 0;
        while (k < n && group[k].atoms != atoms)
            k++;
        if (k < n)
            sum = emit_binary(e, at, OP_add, group[k].sum, sum);
        group[k] = (Group){atoms, sum};
        n += k == n;
    }
    Op *all = NULL;
    for (int k = 0; k < n; k++) {
        Op *sum = group[k].sum;
        if (group[k].atoms)
            sum = emit_shard(e, at, sum, &(Sharding){0});
        all = all ? emit_binary(e, at, OP_add, all, sum) : sum;
    }
    if (!all)
        all = emit_constant(e, at, &(Type){.dtype = DT_f32}, 0);
    return emit_unary(e, at, OP_sqrt, all);
}

// --- clipping ----------------------------------------------------------------

// Whether `to`, which ops from number `from` on compute, is linear in x: then
// clipping multiplies all gradients, and so their norm, by one number.
static bool is_linear(Elab *e, const Op *x, const Op *to, int from)
{
    const Func *f = e->func;
    bool *has = arena_new(e->arena, bool, (size_t)f->ops.n + 1);
    has[x->id] = true;
    for (int i = from; i <= to->id; i++) {
        const Op *op = f->ops.at[i];
        int n = 0, first = op->code == OP_select;
        for (int k = first; k < op->noperand; k++)
            n += has[op->operand[k]->id];
        if (first && has[op->operand[0]->id])
            return false;
        if (n == 0)
            continue;
        Linear linear = first ? LINEAR_ALL : op_linear(op);
        if (linear == LINEAR_NO || (linear == LINEAR_ANY && n > 1) ||
            (linear == LINEAR_ALL && n < op->noperand - first))
            return false;
        has[op->id] = true;
    }
    return has[to->id];
}

static Op *clip_one(Step *s, const Fn *fn, Op *g, Op *norm)
{
    Value lead[] = {value_tensor(g), value_tensor(norm)};
    return of_type(s->e, fn, LINE_clip,
                   call_role(s->e, fn, LINE_clip, lead), &g->type);
}

// Clips in place; gives the norm afterwards.
static Op *clip_all(Step *s, Op *norm, Op *g[])
{
    Elab *e = s->e;
    bool linear = s->nweight > 0;
    const Fn *fn = e->line[LINE_clip] ? role_fn(e, LINE_clip) : NULL;
    if (!fn)
        return norm;
    for (int i = 0; i < s->nweight; i++) {
        int from = e->func->ops.n;
        Op *clipped = clip_one(s, fn, g[i], norm);
        if (!clipped)
            return NULL;
        linear &= is_linear(e, g[i], clipped, from);
        g[i] = clipped;
    }
    return linear ? clip_one(s, fn, norm, norm)
                  : norm_of(s, line_at(s, LINE_clip), g);
}

// --- the rate ----------------------------------------------------------------

static bool is_number(Elab *e, const Expr *x)
{
    return x->kind != EXPR_CALL || x->base->kind != EXPR_NAME ||
           is_builtin(x->base->name) || e->line[LINE_rate]->value != x;
}

static Op *rate_at(Step *s, Op *count)
{
    Elab *e = s->e;
    const Expr *x = e->line[LINE_rate]->value;
    Type scalar = {.dtype = DT_f32};
    Value v, lead[] = {value_tensor(count)};
    const Fn *fn = NULL;
    if (is_number(e, x)) {
        v = eval_scalar(e, x);
        if (v.kind != VALUE_NUMBER && v.kind != VALUE_BAD)
            v = elab_fail(e, x->at, "`rate` wants a function or a number");
    } else {
        fn = role_fn(e, LINE_rate);
        v = fn ? call_role(e, fn, LINE_rate, lead) : (Value){0};
    }
    if (v.kind == VALUE_NUMBER)
        return emit_constant(e, x->at, &scalar, v.number);
    return fn ? of_type(e, fn, LINE_rate, v, &scalar) : NULL;
}

// --- the optimizer -----------------------------------------------------------

typedef struct New { // of one weight
    Op *weight;
    StateList states;
} New;

static bool update_one(Step *s, const Fn *fn, int i, Op *g, Op *rate,
                       Op *count, New *out)
{
    Elab *e = s->e;
    const Op *w = s->weight[i];
    Update u = {.fn = fn, .weight = s->weight[i]};
    Value lead[] = {value_tensor(s->weight[i]), value_tensor(g),
                    value_tensor(rate), value_tensor(count)};
    Span at = line_at(s, LINE_optimizer);
    e->update = &u;
    Value v = call_role(e, fn, LINE_optimizer, lead);
    e->update = NULL;
    Op *op = of_type(e, fn, LINE_optimizer, v, &w->type);
    out->weight = op ? emit_shard(e, at, op, &w->sharding) : NULL;
    for (int k = 0; k < u.states.n; k++) {
        State state = u.states.at[k];
        if (state.next.kind != VALUE_TENSOR)
            return false;
        state.next.op = emit_shard(e, at, state.next.op, &w->sharding);
        vec_push(e->arena, &out->states, state);
    }
    return out->weight;
}

typedef struct Counts {
    Op *state;       // i32: steps done
    Op *next;        // one more
    Op *before, *of; // f32: steps done, the number of this one
} Counts;

static Counts count_steps(Step *s)
{
    Elab *e = s->e;
    Span at = line_at(s, LINE_optimizer);
    Type i32 = {.dtype = DT_i32};
    Counts c;
    c.state = emit_param(e, e->func, at, e->func->nparam, "opt.count", &i32);
    op_set_str(e->func, c.state, A_class, "state");
    op_set_str(e->func, c.state, A_init, "zeros");
    c.next = emit_binary(e, at, OP_add, c.state, emit_constant(e, at, &i32, 1));
    c.before = emit_convert(e, at, c.state, DT_f32);
    c.of = emit_convert(e, at, c.next, DT_f32);
    return c;
}

static void name_output(Elab *e, const char *prefix, const char *name, Op *op)
{
    const char *full = arena_printf(e->module->arena, "%s%s", prefix, name);
    if (!op->name)
        op->name = func_unique_name(e->main, full);
    step_output(e, full, op);
}

// Gradients as their weights are stored.
static void place_gradients(Step *s, Op *g[])
{
    Elab *e = s->e;
    for (int i = 0; i < s->nweight; i++)
        g[i] = emit_shard(e, s->weight[i]->at, s->gradient[i],
                          &s->weight[i]->sharding);
}

void step_update(Step *s)
{
    Elab *e = s->e;
    size_t n = (size_t)s->nweight + 1;
    Op **g = arena_new(e->arena, Op *, n), **clipped;
    New *new = arena_new(e->arena, New, n);
    const Fn *fn = role_fn(e, LINE_optimizer);
    place_gradients(s, g);
    Counts count = count_steps(s);
    Op *rate = rate_at(s, count.before);
    Op *norm = norm_of(s, line_at(s, LINE_clip), g);
    clipped = arena_new(e->arena, Op *, n);
    memcpy(clipped, g, sizeof *g * n);
    Op *norm_after = clip_all(s, norm, clipped);
    if (!fn || !rate || !norm_after)
        return;
    for (int i = 0; i < s->nweight; i++)
        if (!update_one(s, fn, i, clipped[i], rate, count.of, &new[i]))
            return;
    step_output(e, "loss", s->loss);
    step_output(e, "grad_norm", norm);
    step_output(e, "grad_norm_clipped", norm_after);
    step_output(e, "lr", rate);
    for (int i = 0; i < s->nweight; i++)
        name_output(e, "grad.", s->weight[i]->name, g[i]);
    for (int i = 0; i < s->nweight; i++)
        name_output(e, "param.", s->weight[i]->name, new[i].weight);
    for (int i = 0; i < s->nweight; i++)
        for (int k = 0; k < new[i].states.n; k++)
            step_output(e, new[i].states.at[k].op->name,
                        new[i].states.at[k].next.op);
    step_output(e, "opt.count", count.next);
}
