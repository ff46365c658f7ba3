// Calls: functions of the program are inlined.
#include <string.h>

#include "frontend/elab_type.h"

static Value bind_param(Elab *e, Signature *s, const Fn *fn, int i, Value v,
                        Span at)
{
    const Binding *b = &fn->params.at[i];
    const char *what =
        arena_printf(e->arena, "%s of %s", b->name.s, fn->name.s);
    bool wants_tensor = !b->type.is_fn && b->type.has_dims &&
                        (b->type.dim.n || !b->type.has_rest);
    if (v.kind == VALUE_BAD)
        return v;
    if (b->type.is_fn != (v.kind == VALUE_SYMBOL))
        return elab_fail(e, at, "%s wants %s, has %s", what,
                         b->type.is_fn ? "a function" : "a value",
                         kind_text(&v));
    if (v.kind != VALUE_TENSOR && wants_tensor)
        return elab_fail(e, at, "%s wants a tensor, has %s", what,
                         kind_text(&v));
    if (v.kind == VALUE_TENSOR && !signature_bind(e, s, &b->type, &v, what, at))
        return (Value){0};
    return v;
}

static Value check_result(Elab *e, Signature *s, const Fn *fn, Frame *frame)
{
    Value v = frame->result;
    if (v.kind == VALUE_BAD && frame->returned)
        return v;
    if (!frame->returned)
        return elab_fail(e, fn->name.at, "function %s returns nothing",
                         fn->name.s);
    const char *what = arena_printf(e->arena, "the result of %s", fn->name.s);
    bool ok = true;
    v = use(e, fn->at, v);
    if (v.kind == VALUE_TENSOR && fn->has_result)
        ok = signature_result(e, s, &fn->result, &v, what, frame->at);
    if (ok && v.kind == VALUE_TENSOR && fn->result_name.s && e->func == e->main)
        elab_output(e, fn->result_name, v.op, false);
    v.name = NULL;
    return ok ? v : (Value){0};
}

// Runs the body in `scope`, which has the parameters.
static Value inline_body(Elab *e, const Fn *fn, Scope *scope, Signature *s)
{
    Frame frame = {.fn = fn, .at = fn->name.at}, *caller = e->frame;
    Scope *outer = e->scope;
    Formula *formula = e->formula;
    e->scope = scope;
    e->formula = NULL;
    e->frame = &frame;
    e->depth++;
    run_stmts(e, &fn->body);
    Value v = check_result(e, s, fn, &frame);
    e->depth--;
    e->frame = caller;
    e->formula = formula;
    e->scope = outer;
    return v;
}

static Value eval_arg(Elab *e, const Expr *x, Keep keep)
{
    if (!e->formula)
        return eval_scalar(e, x);
    return realize(e, x->at, eval(e, x, keep));
}

Value call_fn(Elab *e, const Fn *fn, const Expr *call, Keep keep)
{
    if (!check_args(e, call, fn->name.s, fn->params.n))
        return (Value){0};
    if (e->depth == MAX_CALLS)
        return elab_fail(e, call->at,
                         "calls nest deeper than %d; does %s call "
                         "itself?",
                         MAX_CALLS, fn->name.s);
    Value *arg = arena_new(e->arena, Value, (size_t)fn->params.n);
    for (int i = 0; i < fn->params.n; i++)
        arg[i] = eval_arg(e, call->args.at[i], keep);
    Scope scope = {.func = e->func}, *outer = e->scope;
    Signature s = {0};
    bool ok = true;
    e->scope = &scope;
    for (int i = 0; i < fn->params.n; i++) {
        arg[i] = bind_param(e, &s, fn, i, arg[i], call->args.at[i]->at);
        ok &= arg[i].kind != VALUE_BAD;
    }
    for (int i = 0; i < fn->params.n; i++) {
        for (int k = 0; k < arg[i].rank; k++)
            arg[i].dim[k].label = -1;
        scope_set(e, fn->params.at[i].name.s, arg[i]);
    }
    e->scope = outer;
    return ok ? inline_body(e, fn, &scope, &s) : (Value){0};
}

static Value call_name(Elab *e, const char *name, const Expr *call, Keep keep)
{
    const Fn *fn = program_fn(e->program, name);
    if (fn)
        return call_fn(e, fn, call, keep);
    if (is_builtin(name))
        return eval_builtin(e, name, call, keep);
    Words words = {0};
    for (int i = 0; i < e->program->fns.n; i++)
        vec_push(e->arena, &words, e->program->fns.at[i]->name.s);
    builtin_words(e, &words);
    return elab_fail(e, call->base->at, "unknown function `%s`%s", name,
                     suggest(e->arena, name, &words));
}

// A function is called by its name, by a parameter or by an option's word.
Value eval_call(Elab *e, const Expr *x, Keep keep)
{
    if (x->base->kind != EXPR_NAME && x->base->kind != EXPR_FIELD)
        return elab_fail(e, x->base->at, "only a function can be called");
    const char *name = expr_text(e, x->base);
    const Value *v = scope_find(e, name);
    if (v && v->kind == VALUE_BAD)
        return *v;
    if (v && v->kind == VALUE_SYMBOL)
        return call_name(e, v->symbol, x, keep);
    if (program_fn(e->program, name) || is_builtin(name))
        return call_name(e, name, x, keep);
    const char *word = env_word(e, name);
    if (!word && (v || env_find(e, name)))
        return elab_fail(e, x->base->at, "`%s` is no function", name);
    return call_name(e, word ? word : name, x, keep);
}

void declare_input(Elab *e, const Name *name, const TypeExpr *t)
{
    Type type;
    const char *size[MAX_RANK];
    Value v = {0};
    if (type_of(e, t, &type, size)) {
        Op *op = emit_param(e, e->main, name->at, e->ninput++, name->s, &type);
        op_set_str(e->main, op, A_class, "input");
        v = value_tensor(op);
        for (int i = 0; i < v.rank; i++)
            v.dim[i].size = size[i];
    }
    if (scope_find(e, name->s))
        elab_fail(e, name->at, "`%s` is declared twice", name->s);
    scope_set(e, name->s, v);
}

Value call_entry(Elab *e, const Fn *fn)
{
    Scope scope = {.func = e->func};
    Signature s = {0};
    e->scope = &scope;
    for (int i = 0; i < fn->params.n; i++)
        declare_input(e, &fn->params.at[i].name, &fn->params.at[i].type);
    return inline_body(e, fn, &scope, &s);
}
