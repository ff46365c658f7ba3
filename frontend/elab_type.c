// Declared types: f32[b, s, emb] of weights, inputs, parameters and results.
//
// In a function's type a name that is no size is bound by the call; bound names
// are numbers in the function's scope. They also carry the caller's indices
// from arguments to the result, so that silu(x[b, s]) has the indices b, s.
#include <string.h>

#include "frontend/elab_type.h"

static const int64_t MAX_DIM = (int64_t)1 << 40;

static DType find_dtype(Elab *e, const TypeExpr *t)
{
    const char *name = t->dtype.s;
    if (!name)
        name = env_word(e, "dtype");
    else if (dtype_find(name) == NDTYPE && env_word(e, name))
        name = env_word(e, name);
    DType found = name ? dtype_find(name) : NDTYPE;
    if (found != NDTYPE)
        return found;
    Words words = {0};
    for (int i = 0; i < NDTYPE; i++)
        vec_push(e->arena, &words, dtype_name[i]);
    if (name)
        elab_fail(e, t->at, "no element type is called `%s`%s", name,
                  suggest(e->arena, name, &words));
    else
        elab_fail(e, t->at,
                  "an element type is missing, and there is no "
                  "option `dtype`");
    return NDTYPE;
}

bool type_of(Elab *e, const TypeExpr *t, Type *type, const char *size[])
{
    if (t->is_fn || t->has_rest) {
        elab_fail(e, t->at, "wants a type with all its sizes");
        return false;
    }
    DType dtype = find_dtype(e, t);
    bool ok = dtype != NDTYPE;
    *type = (Type){.dtype = ok ? dtype : DT_f32};
    if (t->dim.n > MAX_RANK) {
        elab_fail(e, t->at, "more than %d dimensions", MAX_RANK);
        return false;
    }
    for (int i = 0; i < t->dim.n; i++) {
        const Expr *x = t->dim.at[i];
        size[i] = expr_text(e, x);
        const char *what = arena_printf(e->arena, "dimension %s", size[i]);
        ok &= value_int(e, eval_scalar(e, x), x->at, what, 1, MAX_DIM,
                        &type->dim[type->rank++]);
    }
    return ok;
}

static const Bound *find_bound(const Signature *s, const char *name)
{
    for (int i = 0; i < s->bound.n; i++)
        if (strcmp(s->bound.at[i].name, name) == 0)
            return &s->bound.at[i];
    return NULL;
}

// One dimension of a value against one of the declared type.
static bool bind_dim(Elab *e, Signature *s, const Expr *x, const Value *v,
                     int i, const char *what, Span at)
{
    int64_t have = value_dim(v, i), want = have;
    const char *text = expr_text(e, x);
    const Bound *b = find_bound(s, text);
    const char *size = b ? b->size : NULL;
    if (b) {
        want = b->value;
    } else if (x->kind == EXPR_NAME && !env_find(e, text)) {
        scope_set(e, text, value_number((double)have));
    } else {
        const char *dim = arena_printf(e->arena, "dimension %s", text);
        if (!value_int(e, eval_scalar(e, x), x->at, dim, 1, MAX_DIM, &want))
            return false;
    }
    if (!b)
        vec_push(e->arena, &s->bound,
                 ((Bound){text, v->dim[i].label, v->dim[i].size, want}));
    if (want == have)
        return true;
    bool renamed = size && strcmp(size, text) != 0;
    elab_fail(e, at, "%s: dimension %s is %s%s%ld, not %s", what, text,
              renamed ? size : "", renamed ? " = " : "", (long)want,
              dim_text(e, v, i));
    return false;
}

static bool check_dtype(Elab *e, const TypeExpr *t, const Value *v,
                        const char *what, Span at)
{
    DType have = v->op->type.dtype;
    if (!t->dtype.s && dtype_is_float(have))
        return true;
    if (!t->dtype.s) {
        elab_fail(e, at, "%s wants a float type, has %s", what,
                  dtype_name[have]);
        return false;
    }
    DType want = find_dtype(e, t);
    if (want == have || want == NDTYPE)
        return want == have;
    elab_fail(e, at, "%s wants %s, has %s", what, dtype_name[want],
              dtype_name[have]);
    return false;
}

bool signature_bind(Elab *e, Signature *s, const TypeExpr *t, const Value *v,
                    const char *what, Span at)
{
    int lead = v->rank - t->dim.n;
    if (t->has_rest ? lead < 0 : lead != 0) {
        elab_fail(e, at, "%s wants %d dimension%s%s, has %d", what, t->dim.n,
                  t->dim.n == 1 ? "" : "s", t->has_rest ? " or more" : "",
                  v->rank);
        return false;
    }
    if (t->has_rest && !s->has_rest) {
        s->has_rest = true;
        s->nrest = lead;
        memcpy(s->rest, v->dim, sizeof v->dim);
    } else if (t->has_rest && s->nrest != lead) {
        elab_fail(e, at, "%s: `..` stands for %d dimensions, before for %d",
                  what, lead, s->nrest);
        return false;
    }
    bool ok = check_dtype(e, t, v, what, at);
    for (int i = 0; i < t->dim.n; i++)
        ok &= bind_dim(e, s, t->dim.at[i], v, lead + i, what, at);
    return ok;
}

bool signature_result(Elab *e, Signature *s, const TypeExpr *t, Value *v,
                      const char *what, Span at)
{
    if (!signature_bind(e, s, t, v, what, at))
        return false;
    int lead = v->rank - t->dim.n;
    for (int i = 0; i < lead && t->has_rest; i++)
        v->dim[i].label = s->rest[i].label;
    for (int i = 0; i < t->dim.n; i++) {
        const Bound *b = find_bound(s, expr_text(e, t->dim.at[i]));
        if (b)
            v->dim[lead + i].label = b->label;
    }
    return true;
}
