// Calls: functions of the program are inlined.
#include <string.h>

#include "frontend/elab_type.h"

// A parameter without a type takes what is known at compile time.
static Value bind_known(Elab *e, const char *what, Value v, Span at)
{
    if (v.kind == VALUE_TENSOR || v.kind == VALUE_AXES)
        return elab_fail(e, at, "%s wants what is known at compile time, has %s",
                         what, kind_text(&v));
    return v;
}

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
    if (b->is_known)
        return bind_known(e, what, v, at);
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

Value inline_body(Elab *e, const Fn *fn, Scope *scope, Signature *s)
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
    if (e->update && e->update->fn == fn)
        end_states(e);
    e->depth--;
    e->frame = caller;
    e->formula = formula;
    e->scope = outer;
    return v;
}

bool has_state(const Fn *fn)
{
    for (int i = 0; i < fn->body.n; i++)
        if (fn->body.at[i]->kind == STMT_STATE)
            return true;
    return false;
}

static bool check_call(Elab *e, const Fn *fn, const Expr *call)
{
    if (e->depth == MAX_CALLS)
        elab_fail(e, call->at,
                  "calls nest deeper than %d; does %s call itself?", MAX_CALLS,
                  fn->name.s);
    else if (has_state(fn) && !(e->update && e->update->fn == fn))
        elab_fail(e, call->at,
                  "%s keeps a state; only train's `optimizer = %s(...)` calls "
                  "it",
                  fn->name.s, fn->name.s);
    else
        return true;
    return false;
}

Value call_with(Elab *e, const Fn *fn, int nlead, const Value lead[],
                const Expr *call, Keep keep)
{
    size_t n = (size_t)fn->params.n + 1;
    Value *arg = arena_new(e->arena, Value, n);
    Span *at = arena_new(e->arena, Span, n);
    if (!check_call(e, fn, call) ||
        !bind_args(e, fn, nlead, lead, call, keep, arg, at))
        return (Value){0};
    Scope scope = {.func = e->func}, *outer = e->scope;
    Signature s = {0};
    bool ok = true;
    e->scope = &scope;
    for (int i = 0; i < fn->params.n; i++) {
        arg[i] = bind_param(e, &s, fn, i, arg[i], at[i]);
        ok &= arg[i].kind != VALUE_BAD;
    }
    for (int i = 0; i < fn->params.n; i++) {
        for (int k = 0; k < arg[i].rank; k++)
            arg[i].dim[k].label = -1;
        scope_set(e, fn->params.at[i].name.s, arg[i]);
    }
    e->scope = outer;
    if (!ok)
        return (Value){0};
    return fn->backward ? call_custom(e, fn, &scope, &s, call->at)
                        : inline_body(e, fn, &scope, &s);
}

Value call_fn(Elab *e, const Fn *fn, const Expr *call, Keep keep)
{
    return call_with(e, fn, 0, NULL, call, keep);
}

static void fail_unknown(Elab *e, const char *name, Span at)
{
    Words words = {0};
    for (int i = 0; i < e->program->fns.n; i++)
        vec_push(e->arena, &words, e->program->fns.at[i]->name.s);
    builtin_words(e, &words);
    elab_fail(e, at, "unknown function `%s`%s", name,
              suggest(e->arena, name, &words));
}

// A function is called by its name, by a parameter or by an option's word;
// NULL, and an error if nothing is wrong yet.
static const char *called_name(Elab *e, const Expr *x)
{
    if (x->kind != EXPR_NAME && x->kind != EXPR_FIELD) {
        elab_fail(e, x->at, "only a function can be called");
        return NULL;
    }
    const char *name = expr_text(e, x);
    const Value *v = scope_find(e, name);
    if (v && v->kind == VALUE_BAD)
        return NULL;
    if (v && v->kind == VALUE_SYMBOL)
        return v->symbol;
    if (program_fn(e->program, name) || is_builtin(name))
        return name;
    const char *word = env_word(e, name);
    if (word || (!v && !env_find(e, name)))
        return word ? word : name;
    elab_fail(e, x->at, "`%s` is no function", name);
    return NULL;
}

const Fn *called_fn(Elab *e, const Expr *x)
{
    const Expr *f = x->kind == EXPR_CALL ? x->base : x;
    const char *name = called_name(e, f);
    const Fn *fn = name ? program_fn(e->program, name) : NULL;
    if (name && !fn)
        fail_unknown(e, name, f->at);
    return fn;
}

Value eval_call(Elab *e, const Expr *x, Keep keep)
{
    const char *name = called_name(e, x->base);
    if (!name)
        return (Value){0};
    const Fn *fn = program_fn(e->program, name);
    if (fn)
        return call_fn(e, fn, x, keep);
    if (is_builtin(name))
        return eval_builtin(e, name, x, keep);
    fail_unknown(e, name, x->base->at);
    return (Value){0};
}

void declare_input(Elab *e, const Name *name, const TypeExpr *t)
{
    Type type;
    const char *size[MAX_RANK];
    Value v = {0};
    if (type_of(e, t, &type, size)) {
        Op *op = emit_param(e, e->main, name->at, e->ninput++, name->s, &type);
        op_set_str(e->main, op, A_class, "input");
        vec_push(e->arena, &e->inputs, t);
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
