// Statements: assignment, if, return. The others have files of their own.
#include <string.h>

#include "frontend/elab.h"

// An op gets the name of the variable that is first set to it, unless it was
// there before the statement.
static void name_op(Elab *e, const Value *v, const char *name, int before)
{
    if (v->kind == VALUE_TENSOR && !v->op->name && v->op->id >= before)
        v->op->name = func_unique_name(e->func, name);
}

static void run_assign(Elab *e, const Stmt *s)
{
    if (train_line(e, s))
        return;
    const Target *t = &s->targets.at[0];
    if (s->targets.n > 1) {
        elab_fail(e, s->targets.at[1].name.at,
                  "%d names on the left of one value", s->targets.n);
        for (int i = 0; i < s->targets.n; i++)
            scope_set(e, s->targets.at[i].name.s, (Value){0});
        return;
    }
    int before = e->func->ops.n;
    Value v = eval_formula(e, t->has_index ? &t->index : NULL, s->value);
    name_op(e, &v, t->name.s, before);
    scope_set(e, t->name.s, v);
}

static void run_return(Elab *e, const Stmt *s)
{
    const Target *t = &s->targets.at[0];
    if (!e->frame || (e->repeat && e->repeat->frame == e->frame)) {
        elab_fail(e, s->at, "return inside %s",
                  e->frame ? "a repeat" : "train");
        return;
    }
    if (s->more.n && !e->frame->is_backward) {
        elab_fail(e, s->more.at[0]->at,
                  "a function returns one value, a backward several");
        e->frame->returned = true;
        return;
    }
    e->frame->result =
        eval_formula(e, t->has_index ? &t->index : NULL, s->value);
    for (int i = 0; i < s->more.n; i++) {
        t = &s->targets.at[i + 1];
        vec_push(e->arena, &e->frame->more,
                 eval_formula(e, t->has_index ? &t->index : NULL,
                              s->more.at[i]));
    }
    e->frame->returned = true;
    e->frame->at = s->at;
}

static void run_if(Elab *e, const Stmt *s)
{
    Value c = eval_scalar(e, s->value);
    if (c.kind == VALUE_BOOL)
        run_stmts(e, c.number != 0 ? &s->body : &s->otherwise);
    else if (c.kind != VALUE_BAD)
        elab_fail(e, s->value->at,
                  "a condition must be true or false, this is %s",
                  kind_text(&c));
}

static void run_stmt(Elab *e, const Stmt *s)
{
    switch (s->kind) {
    case STMT_ASSIGN: run_assign(e, s); break;
    case STMT_PARAM: run_param(e, s); break;
    case STMT_SHARD: run_shard(e, s); break;
    case STMT_IF: run_if(e, s); break;
    case STMT_REPEAT: run_repeat(e, s); break;
    case STMT_RETURN: run_return(e, s); break;
    case STMT_STATE: run_state(e, s); break;
    case STMT_BACKWARD:
        elab_fail(e, s->at, "backward stands at the end of a function");
        break;
    case STMT_INPUT:
        if (e->repeat || e->frame)
            elab_fail(e, s->at, "input belongs in train");
        else
            for (int i = 0; i < s->names.n; i++)
                declare_input(e, &s->names.at[i], &s->type);
        break;
    }
}

void run_stmts(Elab *e, const Stmts *stmts)
{
    for (int i = 0; i < stmts->n; i++) {
        if (e->frame && e->frame->returned) {
            elab_fail(e, stmts->at[i]->at, "this is never reached");
            return;
        }
        run_stmt(e, stmts->at[i]);
    }
}
