// Operators other than * and /: of two known values, of a known value and a
// tensor, of two tensors.
#include <math.h>
#include <string.h>

#include "frontend/elab.h"

static bool is(const Expr *x, const char *op)
{
    return strcmp(x->name, op) == 0;
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
    {"+", OP_add, NULL},      {"-", OP_subtract, NULL},
    {"**", OP_power, NULL},   {"&&", OP_and, NULL},
    {"||", OP_or, NULL},      {"==", OP_compare, "eq"},
    {"!=", OP_compare, "ne"}, {"<", OP_compare, "lt"},
    {"<=", OP_compare, "le"}, {">", OP_compare, "gt"},
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

// Brings one side of `++` to its own last size and the joined leading sizes.
static Op *concat_side(Elab *e, Span at, const Value *v, const Value *other)
{
    int from[MAX_RANK], n = 0;
    int64_t dim[MAX_RANK];
    for (int i = 0; i < v->rank; i++) {
        bool grows = v->dim[i].stretch && i < v->rank - 1;
        from[i] = v->dim[i].stretch ? -1 : n++;
        dim[i] = value_dim(grows ? other : v, i);
    }
    return emit_arrange(e, at, v->op, v->rank, from, dim);
}

static bool check_concat(Elab *e, Span at, const Value *a, const Value *b)
{
    if (a->kind != VALUE_TENSOR || b->kind != VALUE_TENSOR) {
        elab_fail(e, at, "`++` of %s and %s", kind_text(a), kind_text(b));
        return false;
    }
    if (a->rank != b->rank || a->rank == 0) {
        elab_fail(e, at, "`++` of %d and %d dimensions", a->rank, b->rank);
        return false;
    }
    for (int i = 0; i < a->rank - 1; i++) {
        if (a->dim[i].stretch || b->dim[i].stretch ||
            value_dim(a, i) == value_dim(b, i))
            continue;
        elab_fail(e, at,
                  "dimension %d is %s on the left of `++` and %s on the right",
                  i + 1, dim_text(e, a, i), dim_text(e, b, i));
        return false;
    }
    if (a->op->type.dtype == b->op->type.dtype)
        return true;
    elab_fail(e, at, "`++` of %s and %s; convert one of them",
              dtype_name[a->op->type.dtype], dtype_name[b->op->type.dtype]);
    return false;
}

// a ++ b concatenates the last dimension; the others are matched by place.
static Value concat(Elab *e, Span at, Value a, Value b)
{
    a = use(e, at, a);
    b = use(e, at, b);
    if (a.kind == VALUE_BAD || b.kind == VALUE_BAD ||
        !check_concat(e, at, &a, &b))
        return (Value){0};
    Op *side[] = {concat_side(e, at, &a, &b), concat_side(e, at, &b, &a)};
    Op *op = emit(e, at, OP_concat, 2, side);
    if (!op)
        return (Value){0};
    op_set_int(e->func, op, A_dim, a.rank - 1);
    for (int i = 0; i < a.rank - 1; i++) {
        if (a.dim[i].stretch)
            a.dim[i] = b.dim[i];
        a.dim[i].stretch = false;
    }
    a.dim[a.rank - 1] = (Dim){.label = -1};
    a.op = op;
    a.name = NULL;
    return emit_done(e, op) ? a : (Value){0};
}

Value eval_binary(Elab *e, const Expr *x, Keep keep)
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
        return concat(e, x->at, a, b);
    if (a.kind != VALUE_TENSOR && b.kind != VALUE_TENSOR)
        return known_binary(e, x, a, b);
    return tensor_binary(e, x, a, b);
}
