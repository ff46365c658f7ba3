// Expressions. What is known at compile time is computed, the rest is emitted.
#include <math.h>
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
        return elab_fail(e, x->at, "this must be known at compile time, and "
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

static Value fold(Elab *e, const Expr *x, double a, double b)
{
    if (is(x, "+"))
        return value_number(a + b);
    if (is(x, "-"))
        return value_number(a - b);
    if (is(x, "**"))
        return value_number(pow(a, b));
    if (is(x, "=="))
        return value_bool(a == b);
    if (is(x, "!="))
        return value_bool(a != b);
    if (is(x, "<"))
        return value_bool(a < b);
    if (is(x, "<="))
        return value_bool(a <= b);
    if (is(x, ">"))
        return value_bool(a > b);
    if (is(x, ">="))
        return value_bool(a >= b);
    return elab_fail(e, x->at, "`%s` of numbers", x->name);
}

static const struct {
    const char *sign;
    OpCode code;
    const char *dir; // of compare
} binary_ops[] = {
    {"+", OP_add, NULL},        {"-", OP_subtract, NULL},
    {"**", OP_power, NULL},     {"&&", OP_and, NULL},
    {"||", OP_or, NULL},        {"==", OP_compare, "eq"},
    {"!=", OP_compare, "ne"},   {"<", OP_compare, "lt"},
    {"<=", OP_compare, "le"},   {">", OP_compare, "gt"},
    {">=", OP_compare, "ge"},
};

static Value compare(Elab *e, Span at, const char *dir, Value a, Value b)
{
    a = use(e, at, a);
    b = use(e, at, b);
    if (a.kind != VALUE_TENSOR)
        a = constant_like(e, at, a, &b);
    else if (b.kind != VALUE_TENSOR)
        b = constant_like(e, at, b, &a);
    if (a.kind == VALUE_BAD || b.kind == VALUE_BAD)
        return (Value){0};
    if (a.op->type.dtype != b.op->type.dtype)
        return elab_fail(e, at, "%s is %s and %s is %s; convert one of them",
                         value_name(&a), dtype_name[a.op->type.dtype],
                         value_name(&b), dtype_name[b.op->type.dtype]);
    if (!align(e, at, &a, &b))
        return (Value){0};
    Op *op = emit(e, at, OP_compare, 2, (Op *[]){a.op, b.op});
    if (!op)
        return (Value){0};
    op_set_str(e->func, op, A_dir, dir);
    a.op = op;
    a.name = NULL;
    return emit_done(e, op) ? a : (Value){0};
}

static Value tensor_binary(Elab *e, const Expr *x, Value a, Value b)
{
    for (size_t i = 0; i < sizeof binary_ops / sizeof *binary_ops; i++) {
        if (!is(x, binary_ops[i].sign))
            continue;
        if (binary_ops[i].dir)
            return compare(e, x->at, binary_ops[i].dir, a, b);
        bool logic = is(x, "&&") || is(x, "||");
        const Value *t = a.kind == VALUE_TENSOR ? &a : &b;
        if (logic != (t->op->type.dtype == DT_bool))
            return elab_fail(e, x->at, "`%s` of %s", x->name,
                             dtype_name[t->op->type.dtype]);
        return elementwise(e, x->at, binary_ops[i].code, a, b);
    }
    return elab_fail(e, x->at, "`%s` of tensors", x->name);
}

static Value known_binary(Elab *e, const Expr *x, Value a, Value b)
{
    bool equality = is(x, "==") || is(x, "!=");
    if (a.kind == VALUE_NUMBER && b.kind == VALUE_NUMBER)
        return fold(e, x, a.number, b.number);
    if (a.kind == VALUE_BOOL && b.kind == VALUE_BOOL) {
        bool p = a.number != 0, q = b.number != 0;
        if (is(x, "&&") || is(x, "||"))
            return value_bool(is(x, "&&") ? p && q : p || q);
        if (equality)
            return value_bool((p == q) == is(x, "=="));
    }
    if (a.kind == VALUE_SYMBOL && b.kind == VALUE_SYMBOL && equality)
        return value_bool((strcmp(a.symbol, b.symbol) == 0) == is(x, "=="));
    return elab_fail(e, x->at, "`%s` of %s and %s", x->name, kind_text(&a),
                     kind_text(&b));
}

// Beside a word, a name nobody knows is a word too: `rotation == plain`.
static Value eval_side(Elab *e, const Expr *x, const Expr *other, Keep keep)
{
    bool words = e->words_allowed;
    if (x->kind != EXPR_NAME || other->kind == EXPR_NUMBER)
        return eval(e, x, keep);
    e->words_allowed = true;
    Value v = eval(e, other->kind == EXPR_NAME ? other : x, keep);
    e->words_allowed = words || v.kind == VALUE_SYMBOL;
    v = eval(e, x, keep);
    e->words_allowed = words;
    return v;
}

static Value concat(Elab *e, const Expr *x, Value a, Value b)
{
    a = use(e, x->at, a);
    b = use(e, x->at, b);
    if (a.kind == VALUE_BAD || b.kind == VALUE_BAD)
        return (Value){0};
    if (a.kind != VALUE_TENSOR || b.kind != VALUE_TENSOR || a.rank != b.rank ||
        a.rank == 0)
        return elab_fail(e, x->at,
                         "`++` wants two tensors of equal rank, not rank %d "
                         "and %d",
                         a.rank, b.rank);
    // The last dimensions take no part in the matching.
    int last = a.rank - 1;
    Dim end = {.label = -1};
    int64_t lost = value_dim(&b, last);
    Value lead[2] = {a, b};
    for (int i = 0; i < a.rank; i++) {
        Dim *p = &lead[0].dim[i], *q = &lead[1].dim[i];
        bool free = p->stretch || q->stretch;
        int64_t m = value_dim(&a, i), n = value_dim(&b, i);
        if (i < last && !free && m != n)
            return elab_fail(e, x->at,
                             "dimension %d is %s on the left of `++`, %s on "
                             "the right",
                             i + 1, dim_text(e, &a, i), dim_text(e, &b, i));
    }
    for (int side = 0; side < 2; side++) {
        int from[MAX_RANK], n = 0;
        int64_t dim[MAX_RANK];
        Value *v = &lead[side], *o = &lead[1 - side];
        for (int i = 0; i < a.rank; i++) {
            from[i] = v->dim[i].stretch ? -1 : n++;
            dim[i] = value_dim(v->dim[i].stretch && i < last ? o : v, i);
        }
        v->op = emit_arrange(e, x->at, v->op, a.rank, from, dim);
    }
    (void)lost;
    Op *op = emit(e, x->at, OP_concat, 2, (Op *[]){lead[0].op, lead[1].op});
    if (!op)
        return (Value){0};
    op_set_int(e->func, op, A_dim, last);
    if (!emit_done(e, op))
        return (Value){0};
    for (int i = 0; i < last; i++)
        if (a.dim[i].stretch)
            a.dim[i] = b.dim[i];
    for (int i = 0; i < last; i++)
        a.dim[i].stretch = false;
    a.dim[last] = end;
    a.op = op;
    a.name = NULL;
    return a;
}

static Value eval_binary(Elab *e, const Expr *x, Keep keep)
{
    if (is(x, "*") || is(x, "/"))
        return eval_product(e, x, keep);
    const Expr *l = x->args.at[0], *r = x->args.at[1];
    bool equality = is(x, "==") || is(x, "!=");
    Keep kl = keep, kr = keep;
    if (e->formula) {
        kl.soft |= formula_labels(e, r);
        kr.soft |= formula_labels(e, l);
    }
    Value a = equality ? eval_side(e, l, r, kl) : eval(e, l, kl);
    Value b = equality ? eval_side(e, r, l, kr) : eval(e, r, kr);
    if (a.kind == VALUE_BAD || b.kind == VALUE_BAD)
        return (Value){0};
    if (is(x, "++"))
        return concat(e, x, a, b);
    if (a.kind != VALUE_TENSOR && b.kind != VALUE_TENSOR)
        return known_binary(e, x, a, b);
    return tensor_binary(e, x, a, b);
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
            return elab_fail(e, x->at, "index %s does not stand in what %s(%s) "
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
    case EXPR_NUMBER:
        return value_number(x->number);
    case EXPR_NAME:
        return scope_name(e, x->name, x->at);
    case EXPR_FIELD:
        return eval_field(e, x);
    case EXPR_CALL:
        return eval_call(e, x, keep);
    case EXPR_INDEX:
        if (!e->formula)
            return elab_fail(e, x->at, "this must be known at compile time");
        return eval_index(e, x, keep);
    case EXPR_UNARY:
        return eval_unary(e, x, keep);
    case EXPR_BINARY:
        return eval_binary(e, x, keep);
    case EXPR_REDUCE:
        return eval_reduce(e, x, keep);
    case EXPR_IF:
        return eval_if(e, x, keep);
    case EXPR_STRUCT:
        return elab_fail(e, x->at, "a struct stands in options and configs");
    case EXPR_AXES:
        return value_axes(&x->axes);
    }
    return (Value){0};
}
