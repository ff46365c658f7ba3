// Differentiating a loop.
//
// The forward loop leaves, for each turn, the values it carried in and what the
// policy saves. The backward loop takes the turns in the other order. Its body
// computes the rest of the forward body again (what of it is not needed is
// dropped by dce), then the cotangents: those of the carried values are
// carried, those of invariants are added up, those of the slices of stacked
// weights are left behind, stacked again, placed as the weights are stored.
//
// Policies: `full` computes all again (Chen et al., 2016), `save(a, b)` keeps
// the named values, `none` keeps whatever the cotangents read.
#include <string.h>

#include "pass/backward.h"

// A backward body under construction. Its operands, in order: cotangents of
// what is carried, sums of the invariants' cotangents; invariants; the forward
// loop's stacks, what it saved, cotangents of the stacks it left.
typedef struct Back {
    Rewriter *x;
    const LoopTape *lt;
    const bool *saved; // by id in the body
    Func *out;
    Tape *tape;
    Op **carried; // by parameter: its cotangent, or the sum so far
    Op **seed;    // by result: its cotangent, or NULL
} Back;

static bool is_carried(const Loop *l, int i)
{
    return i < l->carry;
}

static Op *add_param(Func *f, const char *name, const Type *t, const Op *like)
{
    Op *op = func_add(f, OP_param, 0, NULL);
    op->name = func_unique_name(f, name);
    op->type = *t;
    op->at = like->at;
    op->place = like->place;
    return op;
}

static Op *copy_param(Func *f, const Op *param)
{
    Op *op = func_copy_op(f, param, NULL);
    op->name = func_unique_name(f, param->name ? param->name : "p");
    return op;
}

static const char *name_of(const Op *op)
{
    return op->name ? op->name : op_info[op->code]->name;
}

static void add_params(Back *b)
{
    Arena *a = b->x->m->arena;
    const Loop *l = &b->lt->loop;
    const Func *f = l->body;
    for (int i = 0; i < l->first_stacked; i++)
        if (b->lt->is_active[i])
            b->carried[i] =
                add_param(b->out, arena_printf(a, "d.%s", name_of(f->ops.at[i])),
                          &f->ops.at[i]->type, f->ops.at[i]);
    for (int i = l->carry; i < f->nparam; i++)
        b->tape->to[i] = copy_param(b->out, f->ops.at[i]);
    for_each_op (op, f)
        if (is_carried(l, op->id) || b->saved[op->id])
            b->tape->to[op->id] =
                add_param(b->out, name_of(op), &op->type, op);
    for (int i = l->carry; i < f->results.n; i++) {
        const Op *left = f->results.at[i];
        if (b->tape->is_active[left->id])
            b->seed[i] =
                add_param(b->out, arena_printf(a, "d.%s", name_of(left)),
                          &left->type, left);
    }
    for (int i = 0; i < l->carry; i++)
        b->seed[i] = b->carried[i];
}

static void add_results(Back *b)
{
    const Loop *l = &b->lt->loop;
    Func *out = b->out;
    for (int i = 0; i < l->body->nparam; i++) {
        if (!b->lt->is_active[i])
            continue;
        const Op *param = l->body->ops.at[i];
        Op *ct = b->tape->ct[i];
        int first = out->ops.n;
        if (loop_stacks_operand(l, i))
            ct = weight_gradient(b->x, out, param, ct);
        else if (!is_carried(l, i))
            ct = build_sum(out, b->carried[i], ct);
        else if (!ct)
            ct = build_zeros(out, &param->type);
        set_places(out, first, param);
        vec_push(b->x->m->arena, &out->results, ct);
    }
}

static const char *body_name(Rewriter *x, const Func *f, const char *what)
{
    const char *base = arena_printf(x->m->arena, "%s.%s", f->name, what);
    const char *name = base;
    for (int n = 2; module_find(x->m, name); n++)
        name = arena_printf(x->m->arena, "%s.%d", base, n);
    return name;
}

// The body of the backward loop. *recomputed: ops from here to *backward are
// the forward body's, those after it cotangents.
static Func *build_back(Rewriter *x, const LoopTape *lt, const bool saved[],
                        Tape **tape, int *backward)
{
    Arena *a = x->c->arena;
    const Func *f = lt->loop.body;
    Back b = {.x = x,
              .lt = lt,
              .saved = saved,
              .out = func_new(x->m, body_name(x, f, "grad")),
              .carried = arena_new(a, Op *, (size_t)f->nparam + 1),
              .seed = arena_new(a, Op *, (size_t)f->results.n + 1)};
    b.tape = tape_new(x, f, b.out, lt->is_active);
    add_params(&b);
    tape_forward(b.tape);
    *backward = b.out->ops.n;
    for (int i = 0; i < f->results.n; i++)
        tape_add(b.tape, f->results.at[i], b.seed[i]);
    tape_backward(b.tape);
    add_results(&b);
    *tape = b.tape;
    return b.out;
}

// --- what is saved -----------------------------------------------------------

// Whether a name of the policy means this value: `q` also means q.2, which a
// function that is called twice makes of it.
static bool is_named(const char *policy, const char *name)
{
    size_t n = strcspn(name, ".");
    const char *p = strchr(policy, '(');
    while (p && *p) {
        p += strspn(p, "(, ");
        size_t len = strcspn(p, ",) ");
        if (len && (len == strlen(name) || len == n) &&
            memcmp(p, name, len) == 0)
            return true;
        p += len;
        p += strspn(p, ") ");
    }
    return false;
}

// What is made again rather than saved: a value that is larger than what it is
// made of, and one that only weights and invariants go into.
static bool is_made_again(const Op *op, const bool varies[])
{
    int64_t bytes = 0;
    for (int i = 0; i < op->noperand; i++)
        bytes += type_bytes(&op->operand[i]->type);
    return !varies[op->id] || type_bytes(&op->type) > bytes ||
           op_role(op) == ROLE_loop;
}

static void save_read(const Func *f, const bool varies[], bool saved[], int id)
{
    const Op *op = f->ops.at[id];
    if (id < f->nparam || saved[id])
        return;
    if (!is_made_again(op, varies)) {
        saved[id] = true;
        return;
    }
    for (int i = 0; i < op->noperand; i++)
        save_read(f, varies, saved, op->operand[i]->id);
}

// What depends on the values that the loop carries.
static bool *find_varying(Rewriter *x, const Loop *l)
{
    bool *varies = arena_new(x->c->arena, bool, (size_t)l->body->ops.n + 1);
    for_each_op (op, l->body) {
        varies[op->id] = is_carried(l, op->id);
        for (int i = 0; i < op->noperand; i++)
            varies[op->id] |= varies[op->operand[i]->id];
    }
    return varies;
}

// Builds the body once to see what its cotangents read of the forward values.
static void save_all(Rewriter *x, const LoopTape *lt, bool saved[])
{
    const Func *f = lt->loop.body;
    Tape *t;
    int backward, nfunc = x->m->funcs.n;
    x->is_trial = true;
    Func *trial = build_back(x, lt, saved, &t, &backward);
    x->is_trial = false;
    bool *read = arena_new(x->c->arena, bool, (size_t)trial->ops.n + 1);
    for (int i = backward; i < trial->ops.n; i++)
        for (int k = 0; k < trial->ops.at[i]->noperand; k++)
            read[trial->ops.at[i]->operand[k]->id] = true;
    bool *varies = find_varying(x, &lt->loop);
    for_each_op (op, f)
        if (t->to[op->id] && read[t->to[op->id]->id])
            save_read(f, varies, saved, op->id);
    x->m->funcs.n = nfunc;
}

static bool *find_saved(Rewriter *x, const LoopTape *lt)
{
    const Func *f = lt->loop.body;
    const char *policy = op_str(lt->loop.op, A_remat);
    bool *saved = arena_new(x->c->arena, bool, (size_t)f->ops.n + 1);
    if (policy && strncmp(policy, "save", 4) == 0) {
        for (int i = f->nparam; i < f->ops.n; i++)
            saved[i] = f->ops.at[i]->name && is_named(policy,
                                                      f->ops.at[i]->name);
    } else if (!policy || strcmp(policy, "none") == 0) {
        save_all(x, lt, saved);
    }
    return saved;
}

// --- the two loops -----------------------------------------------------------

bool *loop_active(Rewriter *x, const Loop *l, const bool wanted[])
{
    const Func *f = l->body;
    bool *active = arena_new(x->c->arena, bool, (size_t)f->nparam + 1);
    for (int i = 0; i < f->nparam; i++)
        active[i] = wanted[i] && dtype_is_float(f->ops.at[i]->type.dtype);
    for (bool changed = true; changed;) {
        Tape *t = tape_new(x, f, NULL, active);
        changed = false;
        for (int i = 0; i < l->carry; i++) {
            if (active[i] || !t->is_active[f->results.at[i]->id])
                continue;
            active[i] = changed = true;
        }
    }
    return active;
}

// The body of the forward loop returns the saved values as well.
void loop_forward(Tape *t, const Op *op)
{
    Rewriter *x = t->x;
    LoopTape *lt = t->loop[op->id];
    const Func *f = lt->loop.body;
    bool *saved = find_saved(x, lt);
    Tape *unused;
    int backward;
    lt->back = build_back(x, lt, saved, &unused, &backward);
    Func *body = func_new(x->m, body_name(x, f, "save"));
    Op **to = arena_new(x->c->arena, Op *, (size_t)f->ops.n + 1);
    for_each_op (inner, f)
        to[inner->id] = rewrite_op(x, body, inner, to);
    func_map_results(body, f, to);
    for_each_op (inner, f) {
        if (!is_carried(&lt->loop, inner->id) && !saved[inner->id])
            continue;
        vec_push(x->m->arena, &body->results, to[inner->id]);
        lt->nsaved++;
    }
    lt->forward =
        func_copy_op(t->out, op, op_map_operands(x->m->arena, op, t->to));
    lt->forward->name =
        op->name ? func_unique_name(t->out, op->name) : NULL;
    op_set_str(t->out, lt->forward, A_body, body->name);
    t->to[op->id] = lt->forward;
}

// The cotangent of a loop's result, which may be read by several ops: NULL if
// nothing reads it.
static Op *result_ct(const Tape *t, const Op *op, int index)
{
    int k;
    Op *ct = index == 0 ? t->ct[op->id] : NULL;
    for (int i = op->id + 1; i < t->f->ops.n; i++)
        if (op_role(t->f->ops.at[i]) == ROLE_result &&
            result_loop(t->f->ops.at[i], &k) == op && k == index && t->ct[i])
            ct = build_sum(t->out, ct, t->ct[i]);
    return ct;
}

typedef struct Operands {
    Tape *t;
    VEC(Op *) list;
} Operands;

static void give(Operands *o, Op *op)
{
    vec_push(o->t->x->m->arena, &o->list, op);
}

// A cotangent, or zeros.
static void give_ct(Operands *o, Op *ct, const Type *type)
{
    give(o, ct ? ct : build_zeros(o->t->out, type));
}

static Operands back_operands(Tape *t, const LoopTape *lt, Op *const ct[])
{
    const Loop *l = &lt->loop;
    const Op *op = l->op;
    const Func *f = l->body;
    Operands o = {.t = t};
    for (int i = 0; i < l->first_stacked; i++)
        if (lt->is_active[i])
            give_ct(&o, is_carried(l, i) ? ct[i] : NULL, &f->ops.at[i]->type);
    for (int i = l->carry; i < op->noperand; i++)
        give(&o, t->to[op->operand[i]->id]);
    for (int i = 0; i < lt->nsaved; i++)
        give(&o, build_result(t->out, lt->forward, f->results.n + i));
    Tape *inner = tape_new(t->x, f, NULL, lt->is_active);
    for (int i = l->carry; i < f->results.n; i++) {
        Type stack = type_of_stack(&f->results.at[i]->type, l->trip);
        if (inner->is_active[f->results.at[i]->id])
            give_ct(&o, ct[i], &stack);
    }
    return o;
}

static int count_carried(const LoopTape *lt)
{
    int n = 0;
    for (int i = 0; i < lt->loop.first_stacked; i++)
        n += lt->is_active[i];
    return n;
}

void loop_backward(Tape *t, const Op *op)
{
    LoopTape *lt = t->loop[op->id];
    const Loop *l = &lt->loop;
    int nresult = l->body->results.n, carry = count_carried(lt);
    Op **ct = arena_new(t->x->c->arena, Op *, (size_t)nresult + 1);
    bool any = false;
    for (int i = 0; i < nresult; i++)
        any |= (ct[i] = result_ct(t, op, i)) != NULL;
    if (!any)
        return;
    Operands o = back_operands(t, lt, ct);
    int invariant = l->first_stacked - l->carry;
    Op *back = func_add(t->out, OP_scan, o.list.n, o.list.at);
    op_set_str(t->out, back, A_body, lt->back->name);
    op_set_int(t->out, back, A_trip, l->trip);
    op_set_int(t->out, back, A_carry, carry);
    op_set_int(t->out, back, A_stacked, o.list.n - carry - invariant);
    if (!l->is_reverse)
        op_set_int(t->out, back, A_reverse, 1);
    if (!op_infer(t->out, back, t->x->c->diag))
        return;
    for (int i = 0, k = 0; i < op->noperand; i++)
        if (lt->is_active[i])
            tape_add(t, op->operand[i], build_result(t->out, back, k++));
}
