// Functions that are ops. All others are written in the language.
#include <math.h>
#include <string.h>

#include "frontend/elab.h"

enum {
    MAX_SIZE = 1 << 30,
};

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double inverse_sqrt(double x)
{
    return 1 / sqrt(x);
}

static const struct {
    const char *name;
    OpCode code;
    double (*known)(double);
} unary[] = {
    {"exp", OP_exp, exp},    {"log", OP_log, log},
    {"sqrt", OP_sqrt, sqrt}, {"rsqrt", OP_rsqrt, inverse_sqrt},
    {"sin", OP_sin, sin},    {"cos", OP_cos, cos},
    {"tanh", OP_tanh, tanh}, {"sigmoid", OP_logistic, sigmoid},
    {"abs", OP_abs, fabs},   {"floor", OP_floor, floor},
    {"ceil", OP_ceil, ceil},
};

static const struct {
    const char *name;
    OpCode code;
    double (*known)(double, double);
} binary[] = {
    {"maximum", OP_maximum, fmax},
    {"minimum", OP_minimum, fmin},
    {"pow", OP_power, pow},
};

typedef Value Builtin(Elab *e, const Expr *call, Keep keep);
static Builtin eval_select, eval_stop, eval_attention, eval_route, eval_split, eval_cumsum,
    eval_position;

static const struct {
    const char *name;
    int narg;
    Builtin *eval;
} others[] = {
    {"select", 3, eval_select}, {"attention", 6, eval_attention},
    {"route", 4, eval_route},   {"split", 2, eval_split},
    {"cumsum", 1, eval_cumsum}, {"index", 1, eval_position},
    {"stop_gradient", 1, eval_stop},
};

#define count(table) (sizeof(table) / sizeof *(table))

bool is_builtin(const char *name)
{
    for (size_t i = 0; i < count(unary); i++)
        if (strcmp(unary[i].name, name) == 0)
            return true;
    for (size_t i = 0; i < count(binary); i++)
        if (strcmp(binary[i].name, name) == 0)
            return true;
    for (size_t i = 0; i < count(others); i++)
        if (strcmp(others[i].name, name) == 0)
            return true;
    return dtype_find(name) != NDTYPE;
}

void builtin_words(Elab *e, Words *words)
{
    for (size_t i = 0; i < count(unary); i++)
        vec_push(e->arena, words, unary[i].name);
    for (size_t i = 0; i < count(binary); i++)
        vec_push(e->arena, words, binary[i].name);
    for (size_t i = 0; i < count(others); i++)
        vec_push(e->arena, words, others[i].name);
    for (int i = 0; i < NDTYPE; i++)
        vec_push(e->arena, words, dtype_name[i]);
}

bool check_args(Elab *e, const Expr *call, const char *name, int n)
{
    if (call->fields.n) {
        elab_fail(e, call->fields.at[0].name.at,
                  "%s takes its arguments by place", name);
        return false;
    }
    if (call->args.n == n)
        return true;
    elab_fail(e, call->at, "%s wants %d argument%s, has %d", name, n,
              n == 1 ? "" : "s", call->args.n);
    return false;
}

// An argument whose dimensions go by their place.
static Value whole(Elab *e, const Expr *call, int i)
{
    Value v = eval_formula(e, NULL, call->args.at[i]);
    return use(e, call->args.at[i]->at, v);
}

static bool wants_tensor(Elab *e, const Expr *call, const char *name, int i,
                         const Value *v)
{
    if (v->kind != VALUE_TENSOR && v->kind != VALUE_BAD)
        elab_fail(e, call->args.at[i]->at, "%s wants a tensor, has %s", name,
                  kind_text(v));
    return v->kind == VALUE_TENSOR;
}

static Value eval_select(Elab *e, const Expr *call, Keep keep)
{
    Value v[3];
    for (int i = 0; i < 3; i++)
        v[i] = use(e, call->at, eval(e, call->args.at[i], keep));
    if (!wants_tensor(e, call, "select", 0, &v[0]) || v[1].kind == VALUE_BAD ||
        v[2].kind == VALUE_BAD)
        return (Value){0};
    if (v[1].kind == VALUE_TENSOR && v[2].kind != VALUE_TENSOR)
        v[2] = constant_like(e, call->at, v[2], &v[1]);
    else if (v[2].kind == VALUE_TENSOR && v[1].kind != VALUE_TENSOR)
        v[1] = constant_like(e, call->at, v[1], &v[2]);
    else if (v[1].kind != VALUE_TENSOR)
        return elab_fail(e, call->at, "select wants a tensor to choose from");
    if (v[1].kind == VALUE_BAD || v[2].kind == VALUE_BAD ||
        !align(e, call->at, &v[0], &v[1]) ||
        !align(e, call->at, &v[0], &v[2]) || !align(e, call->at, &v[0], &v[1]))
        return (Value){0};
    Op *op =
        emit(e, call->at, OP_select, 3, (Op *[]){v[0].op, v[1].op, v[2].op});
    v[0].op = op;
    v[0].name = NULL;
    return emit_done(e, op) ? v[0] : (Value){0};
}

// stop_gradient(x): x, through which no gradient goes.
static Value eval_stop(Elab *e, const Expr *call, Keep keep)
{
    Value v = use(e, call->at, eval(e, call->args.at[0], keep));
    if (!wants_tensor(e, call, "stop_gradient", 0, &v))
        return (Value){0};
    v.op = emit_unary(e, call->at, OP_stop_gradient, v.op);
    v.name = NULL;
    return v.op ? v : (Value){0};
}

// attention(q, k, v, causal, seg_q, seg_k)
static Value eval_attention(Elab *e, const Expr *call, Keep keep)
{
    (void)keep;
    static const int order[] = {0, 1, 2, 4, 5};
    Op *op[5];
    bool ok = true;
    Dim dim[MAX_RANK] = {0};
    const Expr *how = call->args.at[3];
    bool causal = how->kind == EXPR_NAME && strcmp(how->name, "causal") == 0;
    if (!causal && (how->kind != EXPR_NAME || strcmp(how->name, "full") != 0))
        return elab_fail(e, how->at, "attention is `causal` or `full`");
    for (int i = 0; i < 5; i++) {
        Value v = whole(e, call, order[i]);
        ok &= wants_tensor(e, call, "attention", order[i], &v);
        op[i] = v.op;
        for (int k = 0; k < v.rank && i == 0; k++)
            dim[k] = v.dim[k];
        if (i == 2 && v.rank == 4)
            dim[3] = v.dim[3];
    }
    if (!ok)
        return (Value){0};
    Op *a = emit(e, call->at, OP_attention, 5, op);
    if (!a)
        return (Value){0};
    op_set_int(e->func, a, A_causal, causal);
    if (!emit_done(e, a))
        return (Value){0};
    Value v = value_tensor(a);
    memcpy(v.dim, dim, sizeof dim);
    return v;
}

// route(chooser, k, groups, top_groups)
static Value eval_route(Elab *e, const Expr *call, Keep keep)
{
    (void)keep;
    static const char *const what[] = {NULL, "route's k", "route's groups",
                                       "route's top_groups"};
    int64_t n[4];
    Value v = whole(e, call, 0);
    bool ok = wants_tensor(e, call, "route", 0, &v);
    for (int i = 1; i < 4; i++)
        ok &= value_int(e, eval_scalar(e, call->args.at[i]),
                        call->args.at[i]->at, what[i], i == 1, MAX_SIZE, &n[i]);
    if (!ok)
        return (Value){0};
    const char *score = env_word(e, "group_score");
    Op *op = emit(e, call->at, OP_route, 1, &v.op);
    if (!op)
        return (Value){0};
    op_set_int(e->func, op, A_k, n[1]);
    op_set_int(e->func, op, A_groups, n[2]);
    op_set_int(e->func, op, A_top_groups, n[3]);
    op_set_str(e->func, op, A_group_score, score ? score : "top2");
    v.op = op;
    v.name = NULL;
    if (v.rank)
        v.dim[v.rank - 1].size = expr_text(e, call->args.at[1]);
    return emit_done(e, op) ? v : (Value){0};
}

// split(x, n): the last dimension as two, the second of size n.
static Value eval_split(Elab *e, const Expr *call, Keep keep)
{
    (void)keep;
    int64_t n;
    Value v = whole(e, call, 0);
    bool ok = wants_tensor(e, call, "split", 0, &v);
    if (!value_int(e, eval_scalar(e, call->args.at[1]), call->args.at[1]->at,
                   "split's size", 1, MAX_SIZE, &n) ||
        !ok)
        return (Value){0};
    Type t = v.op->type;
    if (t.rank == 0 || t.rank == MAX_RANK || t.dim[t.rank - 1] % n)
        return elab_fail(
            e, call->at, "the last dimension of %s, %s, does not split by %ld",
            value_name(&v), t.rank ? dim_text(e, &v, v.rank - 1) : "none",
            (long)n);
    t.dim[t.rank - 1] /= n;
    t.dim[t.rank++] = n;
    Value r = value_tensor(emit_reshape(e, call->at, v.op, &t));
    for (int i = 0; r.op && i < v.rank - 1; i++)
        r.dim[i].size = v.dim[i].size;
    return r;
}

// cumsum(x): along the last dimension.
static Value eval_cumsum(Elab *e, const Expr *call, Keep keep)
{
    Value v = use(e, call->at, eval(e, call->args.at[0], keep));
    v = realize(e, call->at, v);
    if (!wants_tensor(e, call, "cumsum", 0, &v))
        return (Value){0};
    if (v.rank == 0)
        return elab_fail(e, call->at, "cumsum of a tensor without dimensions");
    Op *op = emit(e, call->at, OP_cumsum, 1, &v.op);
    op_set_int(e->func, op, A_dim, v.rank - 1);
    v.op = op;
    v.name = NULL;
    return emit_done(e, op) ? v : (Value){0};
}

// index(n): the place along index n, as large as n is elsewhere in the
// statement, or else the size that is called n.
static Value eval_position(Elab *e, const Expr *call, Keep keep)
{
    (void)keep;
    const Expr *x = call->args.at[0];
    if (x->kind != EXPR_NAME || !e->formula)
        return elab_fail(e, x->at, "index(...) wants the name of an index");
    int label = label_find(e, x->name, x->at);
    if (label < 0)
        return (Value){0};
    Label *l = &e->formula->label[label];
    label_seek(e, e->formula->right, label);
    if (l->size == 0) {
        int64_t size;
        if (!scope_find(e, x->name) && !env_find(e, x->name))
            return elab_fail(e, x->at,
                             "index %s has no size: nothing else in the "
                             "statement has it, and no size is called so",
                             x->name);
        if (!value_int(e, scope_name(e, x->name, x->at), x->at, x->name, 1,
                       MAX_SIZE, &size))
            return (Value){0};
        label_bind(e, label, size, x->name, "index", x->at);
    }
    Value v = value_tensor(emit_iota(e, call->at, l->size));
    v.dim[0] = (Dim){.label = label, .size = l->size_name};
    return v;
}

static Value eval_unary_fn(Elab *e, size_t which, const Expr *call, Keep keep)
{
    Value v = use(e, call->at, eval(e, call->args.at[0], keep));
    const char *name = unary[which].name;
    if (v.kind == VALUE_NUMBER)
        return value_number(unary[which].known(v.number));
    if (!wants_tensor(e, call, name, 0, &v))
        return (Value){0};
    DType t = v.op->type.dtype;
    if (!dtype_is_float(t) && unary[which].code != OP_abs)
        return elab_fail(e, call->at, "%s of %s, which is %s", name,
                         value_name(&v), dtype_name[t]);
    v.op = emit_unary(e, call->at, unary[which].code, v.op);
    v.name = NULL;
    return v.op ? v : (Value){0};
}

static Value eval_binary_fn(Elab *e, size_t which, const Expr *call, Keep keep)
{
    Keep inner = keep;
    if (e->formula)
        for (int i = 0; i < 2; i++)
            inner.soft |= formula_labels(e, call->args.at[i]);
    Value a = eval(e, call->args.at[0], inner);
    Value b = eval(e, call->args.at[1], inner);
    if (a.kind == VALUE_NUMBER && b.kind == VALUE_NUMBER)
        return value_number(binary[which].known(a.number, b.number));
    return elementwise(e, call->at, binary[which].code, a, b);
}

static Value eval_cast(Elab *e, DType to, const Expr *call, Keep keep)
{
    Value v = eval(e, call->args.at[0], keep);
    if (v.kind == VALUE_NUMBER || v.kind == VALUE_BAD)
        return v;
    if (!wants_tensor(e, call, dtype_name[to], 0, &v))
        return (Value){0};
    v.is_weight = false;
    v.op = emit_convert(e, call->at, v.op, to);
    return v.op ? v : (Value){0};
}

Value eval_builtin(Elab *e, const char *name, const Expr *call, Keep keep)
{
    DType cast = dtype_find(name);
    if (cast != NDTYPE)
        return check_args(e, call, name, 1) ? eval_cast(e, cast, call, keep)
                                            : (Value){0};
    for (size_t i = 0; i < count(unary); i++)
        if (strcmp(unary[i].name, name) == 0)
            return check_args(e, call, name, 1)
                       ? eval_unary_fn(e, i, call, keep)
                       : (Value){0};
    for (size_t i = 0; i < count(binary); i++)
        if (strcmp(binary[i].name, name) == 0)
            return check_args(e, call, name, 2)
                       ? eval_binary_fn(e, i, call, keep)
                       : (Value){0};
    for (size_t i = 0; i < count(others); i++)
        if (strcmp(others[i].name, name) == 0)
            return check_args(e, call, name, others[i].narg)
                       ? others[i].eval(e, call, keep)
                       : (Value){0};
    return (Value){0};
}
