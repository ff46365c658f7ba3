// Dead code elimination: keeps the entry's params and what its results reach.
// A loop loses the operands that its body does not read, and the stacks of
// results that nothing reads.
#include "ir/loop.h"
#include "pass/pass.h"

typedef struct Live { // what of a function is needed
    const Func *f;
    int uses;  // loops whose body it is
    int carry; // of the one loop; -1: all params and results stay
    bool is_reached;
    bool *op;     // by id
    bool *result; // by number
} Live;

typedef struct Dce {
    PassContext *c;
    const Module *old;
    Module *m;
    Live *live; // by number of the function
} Dce;

static Live *live_of(const Dce *x, const Func *f)
{
    int i = 0;
    while (x->live[i].f != f)
        i++;
    return &x->live[i];
}

static bool keeps_param(const Live *l, int i)
{
    return l->carry < 0 || i < l->carry || l->op[i];
}

static bool keeps_result(const Live *l, int i)
{
    return l->carry < 0 || i < l->carry || l->result[i];
}

static void mark_func(Dce *x, Live *l);

// The body, by what of the results is read; and what it then reads itself.
static void mark_loop(Dce *x, Live *l, const Op *op)
{
    Loop loop = loop_of(x->old, op);
    Live *body = live_of(x, loop.body);
    body->result[0] = true;
    for (int i = op->id + 1; i < l->f->ops.n; i++) {
        int index;
        const Op *user = l->f->ops.at[i];
        if (l->op[i] && op_role(user) == ROLE_result &&
            result_loop(user, &index) == op)
            body->result[index] = true;
    }
    mark_func(x, body);
    for (int i = 0; i < op->noperand; i++)
        l->op[op->operand[i]->id] |= keeps_param(body, i);
}

static void mark_func(Dce *x, Live *l)
{
    l->is_reached = true;
    for (int i = 0; i < l->f->results.n; i++)
        l->op[l->f->results.at[i]->id] |= keeps_result(l, i);
    for (int i = l->f->ops.n - 1; i >= 0; i--) {
        const Op *op = l->f->ops.at[i];
        if (l->op[i] && op_role(op) == ROLE_loop)
            mark_loop(x, l, op);
        else
            for (int k = 0; l->op[i] && k < op->noperand; k++)
                l->op[op->operand[k]->id] = true;
    }
}

static Op *sweep_loop(Dce *x, Func *out, const Op *op, Op *const to[])
{
    Loop l = loop_of(x->old, op);
    const Live *body = live_of(x, l.body);
    Op **operand = arena_new(x->c->arena, Op *, (size_t)op->noperand);
    int n = 0, stacked = 0;
    for (int i = 0; i < op->noperand; i++) {
        if (!keeps_param(body, i))
            continue;
        operand[n++] = to[op->operand[i]->id];
        stacked += loop_stacks_operand(&l, i);
    }
    Op *copy = func_copy_op(out, op, op_map_operands(x->c->arena, op, to));
    copy->operand = operand;
    copy->noperand = n;
    op_set_int(out, copy, A_stacked, stacked);
    return copy;
}

static Op *sweep_result(Dce *x, Func *out, const Op *op, Op *const to[])
{
    int index, now = 0;
    Op *copy = func_copy_op(out, op, op_map_operands(x->c->arena, op, to));
    const Op *loop = result_loop(op, &index);
    if (op_role(loop) != ROLE_loop)
        return copy;
    const Live *body = live_of(x, loop_of(x->old, loop).body);
    for (int i = 0; i < index; i++)
        now += keeps_result(body, i);
    op_set_int(out, copy, A_index, now);
    return copy;
}

static void sweep_func(Dce *x, const Live *l)
{
    const Func *f = l->f;
    Func *out = func_new(x->m, f->name);
    Op **to = arena_new(x->c->arena, Op *, (size_t)f->ops.n);
    for_each_op (op, f) {
        bool is_param = op_role(op) == ROLE_argument;
        if (is_param ? !keeps_param(l, op->id) : !l->op[op->id])
            continue;
        if (op_role(op) == ROLE_loop)
            to[op->id] = sweep_loop(x, out, op, to);
        else if (op_role(op) == ROLE_result)
            to[op->id] = sweep_result(x, out, op, to);
        else
            to[op->id] =
                func_copy_op(out, op, op_map_operands(x->c->arena, op, to));
    }
    for (int i = 0; i < f->results.n; i++) {
        if (!keeps_result(l, i))
            continue;
        vec_push(x->m->arena, &out->results, to[f->results.at[i]->id]);
        if (i < f->result_names.n)
            vec_push(x->m->arena, &out->result_names, f->result_names.at[i]);
    }
}

static void find_uses(Dce *x)
{
    for (int i = 0; i < x->old->funcs.n; i++) {
        const Func *f = x->old->funcs.at[i];
        x->live[i] =
            (Live){.f = f,
                   .carry = -1,
                   .op = arena_new(x->c->arena, bool, (size_t)f->ops.n),
                   .result = arena_new(x->c->arena, bool,
                                       (size_t)f->results.n)};
        for_each_op (op, f) {
            if (op_role(op) != ROLE_loop)
                continue;
            Live *body = live_of(x, module_find(x->old, op_str(op, A_body)));
            bool is_first = body->uses++ == 0;
            body->carry = is_first ? (int)op_int(op, A_carry, 0) : -1;
        }
    }
}

Module *pass_dce(PassContext *c, Module *m)
{
    Dce x = {.c = c,
             .old = m,
             .m = module_new(c->arena, &m->mesh, m->form),
             .live = arena_new(c->arena, Live, (size_t)m->funcs.n)};
    x.m->next_id = m->next_id;
    find_uses(&x);
    for (int i = 0; i < m->funcs.n; i++)
        if (!x.live[i].uses)
            mark_func(&x, &x.live[i]);
    for (int i = 0; i < m->funcs.n; i++)
        if (x.live[i].is_reached)
            sweep_func(&x, &x.live[i]);
    return x.m;
}
