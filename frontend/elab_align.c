// Values of different shapes meet: dimensions are matched by their index or,
// where one of them has none, by their place.
#include <string.h>

#include "frontend/elab.h"

// The op's dimension behind each dimension of the value; -1: stretched.
static void op_dims(const Value *v, int at[MAX_RANK])
{
    int n = 0;
    for (int i = 0; i < v->rank; i++)
        at[i] = v->dim[i].stretch ? -1 : n++;
}

Value realize(Elab *e, Span at, Value v)
{
    int from[MAX_RANK];
    int64_t dim[MAX_RANK];
    if (v.kind != VALUE_TENSOR)
        return v;
    op_dims(&v, from);
    for (int i = 0; i < v.rank; i++)
        dim[i] = value_dim(&v, i);
    v.op = emit_arrange(e, at, v.op, v.rank, from, dim);
    for (int i = 0; i < v.rank; i++)
        v.dim[i].stretch = false;
    return v.op ? v : (Value){0};
}

Value use(Elab *e, Span at, Value v)
{
    if (v.kind != VALUE_TENSOR || !v.is_weight)
        return v;
    v.is_weight = false;
    const char *word = env_word(e, "dtype");
    DType to = word ? dtype_find(word) : NDTYPE;
    if (to == NDTYPE || to == v.op->type.dtype ||
        !dtype_is_float(v.op->type.dtype))
        return v;
    for (int i = 0; i < e->casts.n; i++) {
        if (e->casts.at[i].outer == v.op) {
            v.op = e->casts.at[i].inner;
            return v;
        }
    }
    Op *cast = emit_convert(e, at, v.op, to);
    vec_push(e->arena, &e->casts, ((Link){v.op, cast}));
    v.op = cast;
    return v.op ? v : (Value){0};
}

Value constant_like(Elab *e, Span at, Value number, const Value *like)
{
    Type type = like->op->type;
    if (number.kind != VALUE_NUMBER)
        return elab_fail(e, at, "%s meets a tensor", kind_text(&number));
    if (type.dtype == DT_bool)
        return elab_fail(e, at, "a number meets %s, which is bool",
                         value_name(like));
    if (type.dtype == DT_i32) {
        int64_t whole;
        if (!value_int(e, number, at, "a constant of type i32", INT32_MIN,
                       INT32_MAX, &whole))
            return (Value){0};
    }
    Value v = *like;
    v.name = NULL;
    v.is_weight = false;
    v.op = emit_constant(e, at, &type, number.number);
    return v.op ? v : (Value){0};
}

// Gives v the dimensions of `to`: dimension i comes from v's dimension from[i].
static bool expand(Elab *e, Span at, Value *v, const Value *to,
                   const int from[], const int64_t size[])
{
    int op_at[MAX_RANK] = {0}, list[MAX_RANK], n = 0;
    int64_t dim[MAX_RANK];
    op_dims(v, op_at);
    for (int i = 0; i < to->rank; i++) {
        if (to->dim[i].stretch)
            continue;
        dim[n] = size[i];
        list[n++] = from[i] < 0 ? -1 : op_at[from[i]];
    }
    v->op = emit_arrange(e, at, v->op, n, list, dim);
    v->rank = to->rank;
    memcpy(v->dim, to->dim, sizeof v->dim);
    return v->op != NULL;
}

static int find_label(const Value *v, int label)
{
    for (int i = 0; i < v->rank; i++)
        if (v->dim[i].label == label)
            return i;
    return -1;
}

bool has_place_only(const Value *v)
{
    for (int i = 0; i < v->rank; i++)
        if (v->dim[i].label < 0)
            return true;
    return false;
}

// All dimensions have an index: the union, in the formula's order.
static bool align_labels(Elab *e, Span at, Value *a, Value *b)
{
    Labels all = value_labels(a) | value_labels(b);
    Value to = {.kind = VALUE_TENSOR};
    int from[2][MAX_RANK];
    int64_t size[MAX_RANK];
    for (int label = 0; label < e->formula->nlabel; label++) {
        if (!(all >> label & 1))
            continue;
        if (to.rank == MAX_RANK) {
            elab_fail(e, at, "the result has more than %d dimensions",
                      MAX_RANK);
            return false;
        }
        int i = to.rank++, ia = find_label(a, label), ib = find_label(b, label);
        const Value *has = ia >= 0 ? a : b;
        to.dim[i] = has->dim[ia >= 0 ? ia : ib];
        size[i] = value_dim(has, ia >= 0 ? ia : ib);
        from[0][i] = ia;
        from[1][i] = ib;
    }
    return expand(e, at, a, &to, from[0], size) &&
           expand(e, at, b, &to, from[1], size);
}

// Dimension i of both: false if their indices or sizes contradict.
static bool join_dim(Elab *e, Span at, const Value *a, const Value *b, int i,
                     Value *to, int64_t *size)
{
    const Dim *x = &a->dim[i], *y = &b->dim[i];
    to->dim[i] = x->stretch ? *y : *x;
    if (to->dim[i].label < 0)
        to->dim[i].label = y->label;
    *size = value_dim(x->stretch ? b : a, i);
    if (x->label >= 0 && y->label >= 0 && x->label != y->label) {
        elab_fail(e, at, "dimension %d is %s here and %s there", i + 1,
                  label_name(e, x->label), label_name(e, y->label));
        return false;
    }
    if (x->stretch || y->stretch || value_dim(a, i) == value_dim(b, i))
        return true;
    elab_fail(e, at, "dimension %d of %s is %s, of %s %s", i + 1, value_name(a),
              dim_text(e, a, i), value_name(b), dim_text(e, b, i));
    return false;
}

static bool align_places(Elab *e, Span at, Value *a, Value *b)
{
    if (a->rank != b->rank) {
        elab_fail(e, at,
                  "%s has %d dimensions and %s has %d; name their "
                  "indices",
                  value_name(a), a->rank, value_name(b), b->rank);
        return false;
    }
    Value to = {.kind = VALUE_TENSOR, .rank = a->rank};
    int from[2][MAX_RANK];
    int64_t size[MAX_RANK];
    for (int i = 0; i < a->rank; i++) {
        if (!join_dim(e, at, a, b, i, &to, &size[i]))
            return false;
        from[0][i] = a->dim[i].stretch ? -1 : i;
        from[1][i] = b->dim[i].stretch ? -1 : i;
    }
    return expand(e, at, a, &to, from[0], size) &&
           expand(e, at, b, &to, from[1], size);
}

static bool align_scalar(Elab *e, Span at, Value *scalar, const Value *to)
{
    int from[MAX_RANK];
    int64_t size[MAX_RANK];
    for (int i = 0; i < to->rank; i++) {
        from[i] = -1;
        size[i] = value_dim(to, i);
    }
    return expand(e, at, scalar, to, from, size);
}

bool align(Elab *e, Span at, Value *a, Value *b)
{
    if (a->rank == 0 && b->rank)
        return align_scalar(e, at, a, b);
    if (b->rank == 0 && a->rank)
        return align_scalar(e, at, b, a);
    if (has_place_only(a) || has_place_only(b))
        return align_places(e, at, a, b);
    return align_labels(e, at, a, b);
}

static bool same_type(Elab *e, Span at, const Value *a, const Value *b)
{
    DType x = a->op->type.dtype, y = b->op->type.dtype;
    if (x == y)
        return true;
    elab_fail(e, at, "%s is %s and %s is %s; convert one of them",
              value_name(a), dtype_name[x], value_name(b), dtype_name[y]);
    return false;
}

Value elementwise(Elab *e, Span at, OpCode code, Value a, Value b)
{
    a = use(e, at, a);
    b = use(e, at, b);
    if (a.kind == VALUE_BAD || b.kind == VALUE_BAD)
        return (Value){0};
    if (a.kind == VALUE_TENSOR && b.kind != VALUE_TENSOR)
        b = constant_like(e, at, b, &a);
    else if (b.kind == VALUE_TENSOR && a.kind != VALUE_TENSOR)
        a = constant_like(e, at, a, &b);
    else if (a.kind != VALUE_TENSOR)
        return elab_fail(e, at, "%s meets %s", kind_text(&a), kind_text(&b));
    if (a.kind == VALUE_BAD || b.kind == VALUE_BAD ||
        !same_type(e, at, &a, &b) || !align(e, at, &a, &b))
        return (Value){0};
    a.op = emit_binary(e, at, code, a.op, b.op);
    a.name = NULL;
    return a.op ? a : (Value){0};
}

// Puts v's dimensions in the order of the labels of `to`.
Value reorder(Elab *e, Span at, Value v, Value *to, bool by_place)
{
    int from[MAX_RANK];
    int64_t size[MAX_RANK];
    for (int i = 0; i < to->rank; i++) {
        int label = to->dim[i].label;
        from[i] = by_place ? i : find_label(&v, label);
        to->dim[i] = v.dim[from[i]];
        to->dim[i].label = label;
        size[i] = value_dim(&v, from[i]);
    }
    return expand(e, at, &v, to, from, size) ? v : (Value){0};
}
