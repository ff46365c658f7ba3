// Expressions. What is known at compile time is computed, the rest is emitted.
#include <string.h>

#include "frontend/elab.h"

static bool is(const Expr *x, const char *op)
{
    return strcmp(x->name, op) == 0;
}

Value eval_formula(Elab *e, const Indexes *left, const Expr *x)
{
    Formula formula, *outer = e->formula;
    Keep keep = {0};
    formula_begin(e, &formula, left, x, &keep.hard);
    Value v = eval(e, x, keep);
    if (left)
        v = arrange_left(e, left, v, x->at);
    v = realize(e, x->at, v);
    e->formula = outer;
    for (int i = 0; i < v.rank; i++)
        v.dim[i].label = -1;
    return v;
}

Value eval_scalar(Elab *e, const Expr *x)
{
    Formula *formula = e->formula;
    e->formula = NULL;
    Value v = eval(e, x, (Keep){0});
    e->formula = formula;
    if (v.kind == VALUE_TENSOR)
        return elab_fail(e, x->at,
                         "this must be known at compile time, and "
                         "%s is a tensor",
                         value_name(&v));
    return v;
}

static Value eval_field(Elab *e, const Expr *x)
{
    const char *name = expr_text(e, x);
    Setting *s = env_find(e, name);
    Words words = {0};
    if (s)
        return env_value(e, s, x->at);
    env_words(e, &words);
    return elab_fail(e, x->at, "no option has a field `%s`%s", name,
                     suggest(e->arena, name, &words));
}

static Value eval_unary(Elab *e, const Expr *x, Keep keep)
{
    Value v = use(e, x->at, eval(e, x->base, keep));
    bool negates = is(x, "-");
    if (v.kind == VALUE_NUMBER && negates)
        return value_number(-v.number);
    if (v.kind == VALUE_BOOL && !negates)
        return value_bool(!(v.number != 0));
    if (v.kind == VALUE_BAD)
        return v;
    bool is_bool = v.kind == VALUE_TENSOR && v.op->type.dtype == DT_bool;
    if (v.kind != VALUE_TENSOR || is_bool == negates)
        return elab_fail(e, x->at, "`%s` of %s", x->name,
                         is_bool ? "a bool tensor" : kind_text(&v));
    v.op = emit_unary(e, x->at, negates ? OP_neg : OP_not, v.op);
    v.name = NULL;
    return v.op ? v : (Value){0};
}

static Value eval_reduce(Elab *e, const Expr *x, Keep keep)
{
    Labels gone = 0;
    if (!e->formula)
        return elab_fail(e, x->at, "%s(...) needs a tensor", x->name);
    for (int i = 0; i < x->index.n; i++) {
        const Index *k = &x->index.at[i];
        int label = k->kind == INDEX_NAME ? label_find(e, k->name, k->at) : -1;
        gone |= k->kind == INDEX_REST ? label_rest(e)
                : label < 0           ? 0
                                      : (Labels)1 << label;
    }
    keep.hard |= gone;
    Value v = use(e, x->at, eval(e, x->base, keep));
    if (v.kind == VALUE_BAD)
        return v;
    if (v.kind != VALUE_TENSOR)
        return elab_fail(e, x->at, "%s of %s", x->name, kind_text(&v));
    Labels missing = gone & ~value_labels(&v) & ~label_rest(e);
    for (int l = 0; l < MAX_LABELS && missing; l++)
        if (missing >> l & 1)
            return elab_fail(e, x->at,
                             "index %s does not stand in what %s(%s) "
                             "reduces",
                             label_name(e, l), x->name, label_name(e, l));
    int64_t count = 1;
    for (int i = 0; i < v.rank; i++)
        if (v.dim[i].label >= 0 && gone >> v.dim[i].label & 1)
            count *= value_dim(&v, i);
    OpCode code = is(x, "max")   ? OP_reduce_max
                  : is(x, "min") ? OP_reduce_min
                                 : OP_reduce_sum;
    v = reduce_labels(e, x->at, code, v, gone);
    if (v.kind == VALUE_BAD || !is(x, "mean"))
        return v;
    return elementwise(e, x->at, OP_divide, v, value_number((double)count));
}

static Value eval_if(Elab *e, const Expr *x, Keep keep)
{
    Value c = eval_scalar(e, x->args.at[0]);
    if (c.kind == VALUE_BAD)
        return c;
    if (c.kind != VALUE_BOOL)
        return elab_fail(e, x->args.at[0]->at,
                         "a condition must be true or false, this is %s",
                         kind_text(&c));
    return eval(e, x->args.at[c.number != 0 ? 1 : 2], keep);
}

Value eval(Elab *e, const Expr *x, Keep keep)
{
    switch (x->kind) {
    case EXPR_NUMBER: return value_number(x->number);
    case EXPR_NAME: return scope_name(e, x->name, x->at);
    case EXPR_FIELD: return eval_field(e, x);
    case EXPR_CALL: return eval_call(e, x, keep);
    case EXPR_INDEX:
        if (!e->formula)
            return elab_fail(e, x->at, "this must be known at compile time");
        return eval_index(e, x, keep);
    case EXPR_UNARY: return eval_unary(e, x, keep);
    case EXPR_BINARY: return eval_binary(e, x, keep);
    case EXPR_REDUCE: return eval_reduce(e, x, keep);
    case EXPR_IF: return eval_if(e, x, keep);
    case EXPR_STRUCT:
        return elab_fail(e, x->at, "a struct stands in options and configs");
    case EXPR_AXES: return value_axes(&x->axes);
    }
    return (Value){0};
}
