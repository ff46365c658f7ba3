// States: what an optimizer keeps of each weight from step to step. A state is
// a param of the step, stored as its weight is; what its name means at the end
// of the optimizer's function is its next value.
#include <string.h>

#include "frontend/elab.h"

static void declare(Elab *e, const Stmt *s, const Name *name)
{
    Update *u = e->update;
    const Op *w = u->weight;
    if (scope_find(e, name->s)) {
        elab_fail(e, name->at, "`%s` is declared twice", name->s);
        return;
    }
    const char *path =
        arena_printf(e->module->arena, "opt.%s.%s", name->s, w->name);
    Op *op = emit_param(e, e->func, name->at, e->func->nparam, path, &w->type);
    op->sharding = w->sharding;
    op_set_str(e->func, op, A_class, "state");
    op_set_str(e->func, op, A_init, "zeros");
    set_init(e, op, s->value);
    vec_push(e->arena, &u->states, ((State){name->s, op, {0}}));
    scope_set(e, name->s, value_tensor(op));
}

void run_state(Elab *e, const Stmt *s)
{
    const TypeExpr *t = &s->type;
    if (!e->update || e->frame->fn != e->update->fn || e->repeat ||
        e->scope->func != e->func) {
        elab_fail(e, s->at,
                  "state belongs in the function that train names as its "
                  "optimizer");
        return;
    }
    if (!t->has_rest || t->dim.n || !t->dtype.s ||
        strcmp(t->dtype.s, "f32") != 0)
        elab_fail(e, t->at,
                  "a state is f32[..]: it has the dimensions of its weight");
    for (int i = 0; i < s->names.n; i++)
        declare(e, s, &s->names.at[i]);
}

void end_states(Elab *e)
{
    const Mesh *mesh = &e->module->mesh;
    for (int i = 0; i < e->update->states.n; i++) {
        State *s = &e->update->states.at[i];
        s->next = *scope_find(e, s->name);
        if (s->next.kind == VALUE_BAD || (s->next.kind == VALUE_TENSOR &&
                                          type_equal(&s->next.op->type,
                                                     &s->op->type)))
            continue;
        s->next = elab_fail(
            e, s->op->at, "state %s is %s at first and %s at the end", s->name,
            type_string(e->arena, mesh, &s->op->type, NULL),
            s->next.kind == VALUE_TENSOR
                ? type_string(e->arena, mesh, &s->next.op->type, NULL)
                : kind_text(&s->next));
    }
}
