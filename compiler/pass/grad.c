// GLOBAL to GLOBAL: gradients, and functions with a backward of their own,
// become plain ops.
//
// The op `grad` is replaced by the ops of its function, forward and then
// backward; `call` by those of its function.
#include <string.h>

#include "pass/backward.h"

Op **inline_func(Rewriter *x, Func *out, const Func *f, Op *const argument[])
{
    Arena *a = x->c->arena;
    Op **to = arena_new(a, Op *, (size_t)f->ops.n + 1);
    Op **result = arena_new(a, Op *, (size_t)f->results.n + 1);
    for_each_op (op, f) {
        if (op_role(op) == ROLE_argument)
            to[op->id] = argument[op->id];
        else
            to[op->id] = rewrite_op(x, out, op, to);
    }
    for (int i = 0; i < f->results.n; i++)
        result[i] = to[f->results.at[i]->id];
    return result;
}

// The forward and the backward pass of a function, in the midst of out. Result
// 0 is the function's, then follow the gradients.
static Op **expand_grad(Rewriter *x, Func *out, const Op *op, Op *const to[])
{
    Arena *a = x->c->arena;
    const Func *f = module_find(x->old, op_str(op, A_body));
    const Attr *wrt = op_attr(op, A_wrt);
    bool *wanted = arena_new(a, bool, (size_t)f->nparam + 1);
    Op **result = arena_new(a, Op *, (size_t)wrt->n + 1);
    const char *reduce = op_str(op, A_reduce);
    x->is_narrow = reduce && strcmp(reduce, "bf16") == 0;
    for (int i = 0; i < wrt->n; i++)
        wanted[wrt->ints[i]] = true;
    Tape *t = tape_new(x, f, out, wanted);
    for (int i = 0; i < f->nparam; i++)
        t->to[i] = to[op->operand[i]->id];
    tape_forward(t);
    const Op *loss = f->results.at[0];
    int first = out->ops.n;
    tape_add(t, loss, build_like(out, loss, 1));
    set_places(out, first, loss);
    tape_backward(t);
    result[0] = t->to[loss->id];
    for (int i = 0; i < wrt->n; i++) {
        const Op *weight = t->to[wrt->ints[i]];
        result[i + 1] =
            weight_gradient(x, out, weight, t->ct[wrt->ints[i]]);
    }
    return result;
}

static Op *copy_loop(Rewriter *x, Func *out, const Op *op, Op *const to[])
{
    const Func *body = module_find(x->old, op_str(op, A_body));
    Func *copy = rewrite_func(x, body);
    Op *loop = func_copy_op(out, op, op_map_operands(x->m->arena, op, to));
    op_set_str(out, loop, A_body, copy->name);
    return loop;
}

Op *rewrite_op(Rewriter *x, Func *out, const Op *op, Op *const to[])
{
    Arena *a = x->c->arena;
    Op *copy;
    if (op_role(op) == ROLE_call) {
        Op **argument = op_map_operands(a, op, to);
        copy = inline_func(
            x, out, module_find(x->old, op_str(op, A_body)), argument)[0];
        if (op->name && op_role(copy) != ROLE_argument)
            copy->name = func_unique_name(out, op->name);
        return copy;
    }
    if (op_role(op) == ROLE_loop)
        copy = copy_loop(x, out, op, to);
    else
        copy = func_copy_op(out, op, op_map_operands(x->m->arena, op, to));
    copy->name = NULL;
    if (op->name)
        copy->name = func_unique_name(out, op->name);
    return copy;
}

static void rewrite_body(Rewriter *x, const Func *f, Func *out)
{
    Arena *a = x->c->arena;
    Op **to = arena_new(a, Op *, (size_t)f->ops.n + 1);
    Op ***gradient = arena_new(a, Op **, (size_t)f->ops.n + 1);
    for_each_op (op, f) {
        int index = 0;
        const Op *of = op_role(op) == ROLE_result ? result_loop(op, &index)
                                                  : NULL;
        if (op_role(op) == ROLE_grad) {
            gradient[op->id] = expand_grad(x, out, op, to);
            to[op->id] = gradient[op->id][0];
        } else if (of && gradient[of->id]) {
            to[op->id] = gradient[of->id][index];
        } else {
            to[op->id] = rewrite_op(x, out, op, to);
        }
    }
    func_map_results(out, f, to);
}

Func *rewrite_func(Rewriter *x, const Func *f)
{
    for (int i = 0; i < x->copied.n; i++)
        if (x->copied.at[i].old == f)
            return x->copied.at[i].new;
    Func *out = func_new(x->m, f->name);
    vec_push(x->c->arena, &x->copied, ((Copied){f, out}));
    rewrite_body(x, f, out);
    return out;
}

static void visit(Module *m, Func *f, bool *seen, Func **order, int *n)
{
    for (int i = 0; i < m->funcs.n; i++) {
        if (m->funcs.at[i] != f)
            continue;
        if (seen[i])
            return;
        seen[i] = true;
    }
    for_each_op (op, f)
        if (op_role(op) == ROLE_loop)
            visit(m, module_find(m, op_str(op, A_body)), seen, order, n);
    order[(*n)++] = f;
}

// Bodies before their loops; what nothing calls is dropped.
static void order_funcs(Module *m, Func *entry)
{
    int n = 0;
    bool *seen = arena_new(m->arena, bool, (size_t)m->funcs.n);
    Func **order = arena_new(m->arena, Func *, (size_t)m->funcs.n);
    visit(m, entry, seen, order, &n);
    memcpy(m->funcs.at, order, sizeof *order * (size_t)n);
    m->funcs.n = n;
}

Module *pass_grad(PassContext *c, Module *m)
{
    int errors = c->diag->nerror;
    if (m->form != FORM_global) {
        diag_error(c->diag, (Span){0}, "grad wants form global, not %s",
                   form_name[m->form]);
        return NULL;
    }
    Rewriter x = {.c = c,
                  .m = module_new(c->arena, &m->mesh, FORM_global),
                  .old = m};
    x.m->next_id = m->next_id;
    Func *entry = rewrite_func(&x, module_entry(m));
    order_funcs(x.m, entry);
    return c->diag->nerror > errors ? NULL : x.m;
}
