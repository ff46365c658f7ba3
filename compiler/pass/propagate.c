// GLOBAL to SHARDED: writes down what solve.c decided.
//
// Every op gets the sharding its placement gives; where a user demands
// another, a reshard stands between, one for all that demand the same. Wishes
// (`shard`) become reshards or nothing.
#include <string.h>

#include "pass/explain.h"
#include "pass/solve.h"

typedef struct Resharded {
    int value; // id in the old function
    Op *op;    // in the new one
} Resharded;

typedef struct Rewrite {
    PassContext *c;
    const FuncState *s;
    Func *out;
    Op **to; // old id -> new op
    VEC(Resharded) done;
} Rewrite;

// "einsum at model.shard:12:5"
static const char *op_says(Arena *a, const Op *op)
{
    return op->place
               ? arena_printf(a, "%s at %s", op_info[op->code]->name, op->place)
               : op_info[op->code]->name;
}

static const char *value_says(Arena *a, const Op *v)
{
    const char *class = op_str(v, A_class);
    const char *name = v->name ? v->name : op_info[v->code]->name;
    return class && strcmp(class, "param") == 0
               ? arena_printf(a, "weight %s", name)
               : name;
}

// Why a value is moved: who has it how, and who wants it otherwise.
static const char *find_cause(const Rewrite *w, const Op *value,
                              const Sharding *want, const Op *user)
{
    Arena *a = w->c->arena;
    const Mesh *m = &w->out->module->mesh;
    const Op *have = w->to[value->id];
    const char *stored = type_string(a, m, &value->type, &have->sharding);
    const char *wanted = type_string(a, m, &value->type, want);
    const char *by =
        !user ? "the function's result"
        : op_role(user) == ROLE_wish
            ? arena_printf(a, "the annotation%s%s", user->place ? " at " : "",
                           user->place ? user->place : "")
            : op_says(a, user);
    if (have->sharding.partial & ~want->partial)
        return arena_printf(a, "%s leaves a pending %s; %s wants %s",
                            op_says(a, value),
                            combiner_name[have->sharding.combiner], by, wanted);
    return arena_printf(a, "%s is %s; %s wants %s", value_says(a, value),
                        stored, by, wanted);
}

static Op *convert_to(Rewrite *w, Op *value, DType dtype)
{
    if (value->type.dtype == dtype)
        return value;
    Op *op = func_add(w->out, OP_convert, 1, &value);
    op->type = value->type;
    op->type.dtype = dtype;
    op->sharding = value->sharding;
    op->at = value->at;
    op->place = value->place;
    return op;
}

// The new value for an old one with the sharding that a user demands.
static Op *get_value(Rewrite *w, const Op *value, const Sharding *want,
                     const Op *user)
{
    Op *have = w->to[value->id];
    int rank = value->type.rank;
    if (sharding_equal(&have->sharding, want, rank))
        return have;
    for (int i = 0; i < w->done.n; i++)
        if (w->done.at[i].value == value->id &&
            sharding_equal(&w->done.at[i].op->sharding, want, rank))
            return w->done.at[i].op;
    Op *op = func_add(w->out, OP_reshard, 1, &have);
    op->type = have->type;
    op->sharding = *want;
    op->at = user ? user->at : value->at;
    op->place = user ? user->place : value->place;
    op_set_str(w->out, op, A_op, user ? op_info[user->code]->name : "return");
    op_set_str(w->out, op, A_cause, find_cause(w, value, want, user));
    if (!want->partial && op->type.dtype != value->type.dtype)
        op = convert_to(w, op, value->type.dtype);
    vec_push(w->c->arena, &w->done, ((Resharded){value->id, op}));
    return op;
}

// "30 x 128"
static const char *factors_say(Arena *a, const Rule *r, const DimFactors *df)
{
    const char *text = "";
    for (int k = 0; k < df->n; k++)
        text = arena_printf(a, "%s%s%ld", text, k ? " x " : "",
                            (long)r->size[df->factor[k]]);
    return text;
}

// A split that does not go through a cut of its dimension (3840 over 4 devices
// into 30 heads of 128) is gathered: more than the user may have meant.
static void warn_cut(const Rewrite *w, const Op *op, const Rule *r, int t)
{
    const Mesh *m = &w->out->module->mesh;
    const Op *value = op->operand[t];
    const Sharding *have = &w->to[value->id]->sharding;
    Split of[MAX_FACTORS] = {0};
    factors_from_sharding(m, r, t, value->type.rank, have, of);
    for (int i = 0; i < value->type.rank; i++) {
        const DimFactors *df = &r->dim[t][i];
        AtomSet lost = df->n > 1 ? split_atoms(&have->dim[i]) : 0;
        for (int k = 0; k < df->n; k++)
            lost &= ~split_atoms(&of[df->factor[k]]);
        if (lost)
            diag_warn(w->c->diag, W_cut_dimension, op->at,
                      "%ld, split over %s (%ld devices), is cut into %s, which "
                      "they do not divide: it is gathered",
                      (long)value->type.dim[i],
                      split_string(w->c->arena, m, &have->dim[i]),
                      (long)split_pieces(m, &have->dim[i]),
                      factors_say(w->c->arena, r, df));
    }
}

static void rewrite_op(Rewrite *w, const Op *op)
{
    const OpState *o = &w->s->op[op->id];
    if (op_role(op) == ROLE_wish) {
        Op *value = get_value(w, op->operand[0], &op->sharding, op);
        w->to[op->id] = value;
        if (!value->name && op->name)
            value->name = op->name;
        return;
    }
    Op **operand = arena_new(w->c->arena, Op *, (size_t)op->noperand);
    for (int t = 0; t < op->noperand; t++)
        operand[t] = get_value(w, op->operand[t], &o->demand[t], op);
    for (int t = 0; t < op->noperand && o->rule; t++)
        warn_cut(w, op, o->rule, t);
    Type type = pending_type(op, o->rule, &o->out);
    bool is_wide = type.dtype != op->type.dtype;
    bool has_wide = false; // an operand, pending and so in f32 already
    for (int t = 0; t < op->noperand; t++)
        has_wide |= operand[t]->type.dtype != op->operand[t]->type.dtype;
    bool widens = is_wide && !has_wide && op_info[op->code]->widens;
    for (int t = 0; t < op->noperand && (is_wide || has_wide) && !widens; t++)
        if (dtype_is_float(operand[t]->type.dtype))
            operand[t] = convert_to(w, operand[t], DT_f32);
    Op *copy = func_copy_op(w->out, op, operand);
    copy->sharding = o->out;
    copy->type = type;
    if (widens)
        op_set_str(w->out, copy, A_dtype, dtype_name[type.dtype]);
    w->to[op->id] = copy;
}

static void rewrite_func(PassContext *c, Module *m, const FuncState *s)
{
    const Func *f = s->func;
    for_each_op (op, f) // bodies stand before their loops
        if (s->body[op->id])
            rewrite_func(c, m, s->body[op->id]);
    Rewrite w = {.c = c,
                 .s = s,
                 .out = func_new(m, f->name),
                 .to = arena_new(c->arena, Op *, (size_t)f->ops.n)};
    for_each_op (op, f)
        rewrite_op(&w, op);
    for (int i = 0; i < f->results.n; i++) {
        const Op *value = f->results.at[i];
        Op *result = get_value(&w, value, &s->result_demand[i], NULL);
        vec_push(c->arena, &w.out->results, result);
    }
    for (int i = 0; i < f->result_names.n; i++)
        vec_push(c->arena, &w.out->result_names, f->result_names.at[i]);
}

// Params and wishes must divide, unless padding is allowed.
static void check_divides(PassContext *c, const Module *m, const Op *op)
{
    for (int i = 0; i < op->type.rank; i++) {
        int64_t n = split_pieces(&m->mesh, &op->sharding.dim[i]);
        if (op->type.dim[i] % n == 0 || c->uneven_pad)
            continue;
        diag_error(c->diag, op->at,
                   "dimension %d of %s is %ld, which %ld devices (%s) do not "
                   "divide; --uneven pad would pad it",
                   i, op->name ? op->name : op_info[op->code]->name,
                   (long)op->type.dim[i], (long)n,
                   split_string(c->arena, &m->mesh, &op->sharding.dim[i]));
    }
}

static bool check_input(PassContext *c, const Module *m)
{
    int errors = c->diag->nerror;
    if (m->form != FORM_global)
        diag_error(c->diag, (Span){0}, "propagate wants form global, not %s",
                   form_name[m->form]);
    for (int i = 0; i < m->funcs.n; i++) {
        int loops = 0;
        for (int k = i; k < m->funcs.n; k++)
            for_each_op (op, m->funcs.at[k])
                loops += op_role(op) == ROLE_loop &&
                         module_find(m, op_str(op, A_body)) == m->funcs.at[i];
        if (loops > 1)
            diag_error(c->diag, m->funcs.at[i]->ops.at[0]->at,
                       "@%s is the body of %d loops; one is supported",
                       m->funcs.at[i]->name, loops);
        for_each_op (op, m->funcs.at[i])
            if (op_role(op) == ROLE_argument || op_role(op) == ROLE_wish)
                check_divides(c, m, op);
    }
    return c->diag->nerror == errors;
}

Module *pass_propagate(PassContext *c, Module *m)
{
    if (!check_input(c, m))
        return NULL;
    Func *entry = module_entry(m);
    if (!entry->results.n) {
        diag_error(c->diag, (Span){0}, "@%s returns nothing", entry->name);
        return NULL;
    }
    FuncState *s = solve_func(c, entry, 0);
    if (c->explain)
        explain_func(c, s);
    Module *out = module_new(c->arena, &m->mesh, FORM_sharded);
    rewrite_func(c, out, s);
    return out;
}
