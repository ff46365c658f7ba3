// Collectives of a loop's invariants move in front of the loop: they run once
// instead of once a turn, and what they make is held while the loop runs. So
// they move only as far as the memory set aside for that goes
// (PassContext.hoist_bytes, per device).
#include "ir/loop.h"
#include "ir/op.h"
#include "pass/pass.h"

typedef struct Hoisted { // out of a body
    const Func *body;
    const Op *op; // of the old module
    int invariant; // the param that it reads; -1: an earlier hoisted op
    int earlier;
} Hoisted;

typedef struct Hoist {
    PassContext *c;
    const Module *old;
    Module *m;
    int64_t left; // bytes
    VEC(Hoisted) list;
} Hoist;

static int find_hoisted(const Hoist *x, const Op *op)
{
    for (int i = 0; i < x->list.n; i++)
        if (x->list.at[i].op == op)
            return i;
    return -1;
}

// Takes what can leave the body, if there is memory for it.
static void collect(Hoist *x, const Loop *l)
{
    for_each_op (op, l->body) {
        if (op_role(op) != ROLE_collective)
            continue;
        const Op *in = op->operand[0];
        Hoisted h = {l->body, op, -1, find_hoisted(x, in)};
        if (in->id >= l->carry && in->id < l->first_stacked)
            h.invariant = in->id;
        Type local = type_local(&x->old->mesh, &op->type, &op->sharding);
        if ((h.invariant < 0 && h.earlier < 0) || type_bytes(&local) > x->left)
            continue;
        x->left -= type_bytes(&local);
        vec_push(x->c->arena, &x->list, h);
    }
}

// The body with a param for each hoisted op, behind its invariants.
static void rewrite_body(Hoist *x, const Func *f, int first_stacked, Func *out,
                         Op **to)
{
    for (int i = 0; i < first_stacked; i++)
        to[i] = func_copy_op(out, f->ops.at[i], NULL);
    for (int i = 0; i < x->list.n; i++) {
        const Op *op = x->list.at[i].op;
        if (x->list.at[i].body != f)
            continue;
        Op *param = func_add(out, OP_param, 0, NULL);
        param->name = op->name ? op->name
                               : func_unique_name(out, op_info[op->code]->name);
        param->type = op->type;
        param->sharding = op->sharding;
        param->at = op->at;
        param->place = op->place;
        to[op->id] = param;
    }
}

// The loop, with the hoisted ops before it.
static Op *rewrite_loop(Hoist *x, Func *out, const Op *op, Op *const to[])
{
    Arena *a = x->c->arena;
    Loop l = loop_of(x->old, op);
    Op **made = arena_new(a, Op *, (size_t)x->list.n + 1);
    Op **operand =
        arena_new(a, Op *, (size_t)(op->noperand + x->list.n) + 1);
    int n = 0;
    for (int i = 0; i < l.first_stacked; i++)
        operand[n++] = to[op->operand[i]->id];
    for (int i = 0; i < x->list.n; i++) {
        const Hoisted *h = &x->list.at[i];
        if (h->body != l.body)
            continue;
        Op *in = h->invariant >= 0 ? to[op->operand[h->invariant]->id]
                                   : made[h->earlier];
        made[i] = func_copy_op(out, h->op, &in);
        made[i]->name = NULL;
        const char *cause = op_str(h->op, A_cause);
        op_set_str(out, made[i], A_cause,
                   arena_printf(x->m->arena, "%s%sonce for all %ld turns of %s",
                                cause ? cause : "", cause ? "; " : "",
                                (long)l.trip, l.body->name));
        operand[n++] = made[i];
    }
    for (int i = l.first_stacked; i < op->noperand; i++)
        operand[n++] = to[op->operand[i]->id];
    Op *copy = func_copy_op(out, op, op_map_operands(a, op, to));
    copy->operand = operand;
    copy->noperand = n;
    return copy;
}

static void rewrite_func(Hoist *x, const Func *f, int first_stacked)
{
    Func *out = func_new(x->m, f->name);
    Op **to = arena_new(x->c->arena, Op *, (size_t)f->ops.n + 1);
    rewrite_body(x, f, first_stacked, out, to);
    for_each_op (op, f) {
        if (to[op->id])
            continue;
        to[op->id] = op_role(op) == ROLE_loop
                         ? rewrite_loop(x, out, op, to)
                         : func_copy_op(out, op,
                                        op_map_operands(x->c->arena, op, to));
    }
    func_map_results(out, f, to);
}

Module *pass_hoist(PassContext *c, Module *m)
{
    if (m->form != FORM_sharded) {
        diag_error(c->diag, (Span){0}, "hoist wants form sharded, not %s",
                   form_name[m->form]);
        return NULL;
    }
    Hoist x = {.c = c,
               .old = m,
               .m = module_new(c->arena, &m->mesh, m->form),
               .left = c->hoist_bytes};
    int *first = arena_new(c->arena, int, (size_t)m->funcs.n);
    x.m->next_id = m->next_id;
    for (int i = 0; i < m->funcs.n; i++) {
        for_each_op (op, m->funcs.at[i]) {
            if (op_role(op) != ROLE_loop)
                continue;
            Loop l = loop_of(m, op);
            if (l.trip > 1)
                collect(&x, &l);
            for (int k = 0; k < i; k++)
                if (m->funcs.at[k] == l.body)
                    first[k] = l.first_stacked;
        }
    }
    for (int i = 0; i < m->funcs.n; i++)
        rewrite_func(&x, m->funcs.at[i], first[i]);
    return x.m;
}
