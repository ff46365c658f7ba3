// The entry `step`: the loss and its gradients, then the new weights.
//
// The forward entry becomes the function @loss, which the step differentiates.
#include <string.h>

#include "frontend/elab.h"
#include "ir/op.h"

static bool is_weight(const Op *param)
{
    const char *class = op_str(param, A_class);
    return class && strcmp(class, "param") == 0;
}

Op *step_param(Elab *e, const Op *like, const char *name)
{
    Func *f = e->func;
    Op *op = emit_param(e, f, like->at, f->nparam, name, &like->type);
    op->sharding = like->sharding;
    return op;
}

Op *step_result(Elab *e, Op *op, int index)
{
    Op *result = emit(e, op->at, OP_result, 1, &op);
    op_set_int(e->func, result, A_index, index);
    return emit_done(e, result) ? result : NULL;
}

Op *step_gradients(Elab *e, const Func *loss, OpList operands, Op *gradient[])
{
    int64_t *wrt = arena_new(e->arena, int64_t, (size_t)operands.n + 1);
    const char *reduce = env_word(e, "grad_reduce");
    int n = 0;
    for (int i = 0; i < operands.n; i++)
        if (is_weight(loss->ops.at[i]))
            wrt[n++] = i;
    Op *op = emit(e, loss->results.at[0]->at, OP_grad, operands.n, operands.at);
    op_set_str(e->func, op, A_body, loss->name);
    op_set_ints(e->func, op, A_wrt, n, wrt);
    if (reduce && strcmp(reduce, "bf16") == 0)
        op_set_str(e->func, op, A_reduce, reduce);
    if (!emit_done(e, op))
        return NULL;
    for (int i = 0; i < n; i++)
        gradient[i] = step_result(e, op, i + 1);
    return op;
}

static void whole_gradients(Step *s)
{
    Elab *e = s->e;
    OpList operands = {0};
    for (int i = 0; i < s->ninput; i++)
        vec_push(e->arena, &operands, s->input[i]);
    for (int i = 0; i < s->nweight; i++)
        vec_push(e->arena, &operands, s->weight[i]);
    s->loss = step_gradients(e, s->whole->main, operands, s->gradient);
}

void step_output(Elab *e, const char *name, Op *op)
{
    vec_push(e->module->arena, &e->main->results, op);
    vec_push(e->module->arena, &e->main->result_names, name);
}

// What is trained must be f32, as its states are.
static bool check_types(Elab *e, const Func *loss)
{
    const Op *result = loss->results.at[0];
    int before = e->diag->nerror;
    if (result->type.dtype != DT_f32)
        elab_fail(e, result->at, "the loss must be f32 to train, is %s",
                  dtype_name[result->type.dtype]);
    for (int i = 0; i < loss->nparam; i++) {
        const Op *p = loss->ops.at[i];
        if (is_weight(p) && p->type.dtype != DT_f32)
            elab_fail(e, p->at, "weight %s must be f32 to train, is %s",
                      p->name, dtype_name[p->type.dtype]);
    }
    return e->diag->nerror == before;
}

static void add_params(Step *s)
{
    const Func *loss = s->whole->main;
    size_t n = (size_t)loss->nparam + 1;
    s->input = arena_new(s->e->arena, Op *, n);
    s->weight = arena_new(s->e->arena, Op *, n);
    s->gradient = arena_new(s->e->arena, Op *, n);
    for (int i = 0; i < loss->nparam; i++) {
        const Op *p = loss->ops.at[i];
        Op *op = step_param(s->e, p, p->name);
        for (int k = 0; k < p->attrs.n; k++)
            vec_push(s->e->module->arena, &op->attrs, p->attrs.at[k]);
        if (is_weight(p))
            s->weight[s->nweight++] = op;
        else
            s->input[s->ninput++] = op;
    }
}

// The lines of train see its variables that are known at compile time.
static Scope *known_scope(Elab *e, Func *f)
{
    Scope *s = arena_new(e->arena, Scope, 1);
    s->func = f;
    for (int i = 0; i < e->train->vars.n; i++)
        if (e->train->vars.at[i].value.kind != VALUE_TENSOR)
            vec_push(e->arena, &s->vars, e->train->vars.at[i]);
    return s;
}

void elab_step(Elab *e)
{
    Func *loss = e->main;
    int before = e->diag->nerror;
    if (!check_types(e, loss))
        return;
    loss->name = "loss";
    loss->results.n = 1;
    loss->result_names.n = 0;
    warn_unreached(loss, e->diag);
    Elab whole = *e;
    Step s = {.whole = &whole, .e = e};
    e->main = e->func = func_new(e->module, "step");
    e->scope = known_scope(e, e->main);
    add_params(&s);
    if (e->parts > 1)
        micro_gradients(&s);
    else
        whole_gradients(&s);
    if (s.loss && e->diag->nerror == before)
        step_update(&s);
}
