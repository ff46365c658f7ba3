// Functions with a backward of their own: such a call is not inlined here. The
// function and its backward become functions of the IR, and the call an op
// that names both; the pass `grad` inlines them where it needs them.
#include <string.h>

#include "frontend/elab_type.h"

typedef struct Custom {
    const Fn *fn;
    Scope *scope; // of the caller's values
    OpList arg;   // the tensors among them
    Span at;
} Custom;

// The function's scope, with parameters of f in the place of tensors.
static Scope inner_scope(Elab *e, const Custom *c, Func *f)
{
    Scope s = {.func = f};
    for (int i = 0; i < c->scope->vars.n; i++) {
        Var v = c->scope->vars.at[i];
        if (v.value.kind == VALUE_TENSOR)
            v.value.op = emit_param(e, f, c->at, f->nparam, v.name,
                                    &v.value.op->type);
        vec_push(e->arena, &s.vars, v);
    }
    return s;
}

// What a body must not see of the place where it is called.
typedef struct Outside {
    Func *func;
    Repeat *repeat;
    bool is_custom;
} Outside;

static Outside enter(Elab *e, Func *f)
{
    Outside o = {e->func, e->repeat, e->is_custom};
    e->func = f;
    e->repeat = NULL;
    e->is_custom = true;
    return o;
}

static void leave(Elab *e, Outside o)
{
    e->func = o.func;
    e->repeat = o.repeat;
    e->is_custom = o.is_custom;
}

static void add_param(Elab *e, Func *f, Scope *s, const Name *name, Value v,
                      Span at)
{
    v.op = emit_param(e, f, at, f->nparam, name->s, &v.op->type);
    v.name = name->s;
    v.is_weight = false;
    for (int i = 0; i < v.rank; i++)
        v.dim[i].label = -1;
    vec_push(e->arena, &s->vars, ((Var){name->s, v}));
}

// One returned value, as the cotangent of an argument.
static bool add_result(Elab *e, const Custom *c, Func *f, Value v,
                       const Op *arg, const char *name)
{
    if (v.kind == VALUE_BAD)
        return false;
    if (v.kind != VALUE_TENSOR || !dtype_is_float(v.op->type.dtype) ||
        !type_same_shape(&v.op->type, &arg->type)) {
        const Mesh *mesh = &e->module->mesh;
        elab_fail(e, c->fn->backward->at,
                  "the backward of %s returns %s for %s, which is %s",
                  c->fn->name.s,
                  v.kind == VALUE_TENSOR
                      ? type_string(e->arena, mesh, &v.op->type, NULL)
                      : kind_text(&v),
                  name, type_string(e->arena, mesh, &arg->type, NULL));
        return false;
    }
    Op *op = emit_convert(e, v.op->at, v.op, arg->type.dtype);
    vec_push(e->module->arena, &f->results, op);
    return op != NULL;
}

// One value for each float parameter, in order.
static bool add_results(Elab *e, const Custom *c, Func *f, const Frame *frame)
{
    int have = 1 + frame->more.n, want = 0;
    bool ok = true;
    for (int i = 0; i < c->arg.n; i++) {
        const Op *arg = c->arg.at[i];
        if (!dtype_is_float(arg->type.dtype))
            continue;
        if (want < have)
            ok &= add_result(e, c, f,
                             want ? frame->more.at[want - 1] : frame->result,
                             arg, f->ops.at[i]->name);
        want++;
    }
    if (have == want)
        return ok;
    elab_fail(e, frame->at,
              "the backward of %s returns %d value%s, wants %d: one for each "
              "float parameter",
              c->fn->name.s, have, have == 1 ? "" : "s", want);
    return false;
}

static const Func *run_backward(Elab *e, const Custom *c, Value y)
{
    const Stmt *b = c->fn->backward;
    const char *name =
        arena_printf(e->module->arena, "%s.backward", c->fn->name.s);
    Func *f = func_new(e->module, unique_func(e, name));
    Frame frame = {.fn = c->fn, .at = b->at, .is_backward = true};
    Frame *caller = e->frame;
    Scope s = inner_scope(e, c, f), *outer = e->scope;
    add_param(e, f, &s, &c->fn->result_name, y, c->at);
    add_param(e, f, &s, &b->names.at[0], y, c->at);
    Outside outside = enter(e, f);
    Formula *formula = e->formula;
    e->formula = NULL;
    e->scope = &s;
    e->frame = &frame;
    run_stmts(e, &b->body);
    bool ok = frame.returned && frame.result.kind != VALUE_BAD;
    if (!frame.returned)
        elab_fail(e, b->at, "the backward of %s returns nothing",
                  c->fn->name.s);
    ok = ok && add_results(e, c, f, &frame);
    e->frame = caller;
    e->scope = outer;
    e->formula = formula;
    leave(e, outside);
    return ok ? f : NULL;
}

Value call_custom(Elab *e, const Fn *fn, Scope *scope, Signature *s, Span at)
{
    Custom c = {.fn = fn, .scope = scope, .at = at};
    if (!fn->result_name.s)
        return elab_fail(e, fn->name.at,
                         "%s has a backward, which needs a name for the "
                         "result: -> y: [..]",
                         fn->name.s);
    for (int i = 0; i < scope->vars.n; i++)
        if (scope->vars.at[i].value.kind == VALUE_TENSOR)
            vec_push(e->arena, &c.arg, scope->vars.at[i].value.op);
    Func *f = func_new(e->module, unique_func(e, fn->name.s));
    Scope inner = inner_scope(e, &c, f);
    Outside outside = enter(e, f);
    Value y = inline_body(e, fn, &inner, s);
    leave(e, outside);
    if (y.kind == VALUE_BAD)
        return y;
    if (y.kind != VALUE_TENSOR)
        return elab_fail(e, fn->name.at, "%s has a backward and returns %s",
                         fn->name.s, kind_text(&y));
    vec_push(e->module->arena, &f->results, y.op);
    const Func *back = run_backward(e, &c, y);
    if (!back)
        return (Value){0};
    Op *op = emit(e, at, OP_call, c.arg.n, c.arg.at);
    op_set_str(e->func, op, A_body, f->name);
    op_set_str(e->func, op, A_backward, back->name);
    y.op = op;
    y.name = NULL;
    return emit_done(e, op) ? y : (Value){0};
}
