// The arguments of a call of the program's function: by place, then by name,
// then as the function says where the call says nothing.
#include <string.h>

#include "frontend/elab.h"

static Value eval_arg(Elab *e, const Expr *x, Keep keep)
{
    if (!e->formula)
        return eval_scalar(e, x);
    return realize(e, x->at, eval(e, x, keep));
}

static int find_param(Elab *e, const Fn *fn, const Name *name)
{
    Words words = {0};
    for (int i = 0; i < fn->params.n; i++) {
        if (strcmp(fn->params.at[i].name.s, name->s) == 0)
            return i;
        vec_push(e->arena, &words, fn->params.at[i].name.s);
    }
    elab_fail(e, name->at, "%s has no parameter `%s`%s", fn->name.s, name->s,
              suggest(e->arena, name->s, &words));
    return -1;
}

static bool bind_named(Elab *e, const Fn *fn, const Expr *call, Keep keep,
                       const Expr *given[], Value arg[], Span at[])
{
    bool ok = true;
    for (int i = 0; i < call->fields.n; i++) {
        const Field *f = &call->fields.at[i];
        int k = find_param(e, fn, &f->name);
        if (k >= 0 && given[k]) {
            elab_fail(e, f->name.at, "%s is given `%s` twice", fn->name.s,
                      f->name.s);
            k = -1;
        }
        ok &= k >= 0;
        if (k < 0)
            continue;
        given[k] = f->value;
        at[k] = f->value->at;
        arg[k] = eval_arg(e, f->value, keep);
    }
    return ok;
}

// What is not given has a value in the function's declaration.
static bool bind_default(Elab *e, const Binding *b, Value *arg)
{
    Scope *scope = e->scope;
    if (!b->otherwise)
        return false;
    e->scope = NULL;
    *arg = eval_scalar(e, b->otherwise);
    e->scope = scope;
    return true;
}

static bool fail_count(Elab *e, const Fn *fn, const Expr *call)
{
    int n = fn->params.n;
    elab_fail(e, call->at, "%s wants %d argument%s, has %d", fn->name.s, n,
              n == 1 ? "" : "s", call->args.n);
    return false;
}

bool bind_args(Elab *e, const Fn *fn, int nlead, const Value lead[],
               const Expr *call, Keep keep, Value arg[], Span at[])
{
    int n = fn->params.n, nplace = nlead + call->args.n;
    const Expr **given = arena_new(e->arena, const Expr *, (size_t)n + 1);
    if (nplace > n && nlead == 0)
        return fail_count(e, fn, call);
    for (int i = 0; i < nplace && i < n; i++) {
        const Expr *x = i < nlead ? call : call->args.at[i - nlead];
        given[i] = x;
        at[i] = x->at;
        arg[i] = i < nlead ? lead[i] : eval_arg(e, x, keep);
    }
    if (nplace > n) {
        elab_fail(e, call->args.at[n - nlead]->at,
                  "%s takes %d argument%s here, has %d", fn->name.s, n - nlead,
                  n - nlead == 1 ? "" : "s", call->args.n);
        return false;
    }
    bool ok = bind_named(e, fn, call, keep, given, arg, at);
    for (int i = 0; i < n && ok; i++) {
        const Binding *b = &fn->params.at[i];
        if (given[i])
            continue;
        at[i] = call->at;
        if (bind_default(e, b, &arg[i]))
            continue;
        if (!nlead && !call->fields.n)
            return fail_count(e, fn, call);
        elab_fail(e, call->at, "%s wants an argument `%s`", fn->name.s,
                  b->name.s);
        ok = false;
    }
    return ok;
}
