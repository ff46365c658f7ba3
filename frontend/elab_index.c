// x[b, s, 0 : n], t[ids[b, s], e], x[.., d]: indices on a value.
#include <inttypes.h>
#include <string.h>

#include "frontend/elab.h"

// One dimension of the indexed value, and what stands for it in the list.
typedef struct Slot {
    const Index *index;
    int label;      // NAME and REST
    bool is_point;  // a number: the dimension is gone
    int64_t lo, hi; // taken of it
} Slot;

typedef struct Slots {
    int n;
    Slot at[MAX_RANK];
    int gather; // the slot with a tensor; -1: none
    Value ids;
} Slots;

static Value indexed_value(Elab *e, const Expr *x)
{
    Value v;
    if (x->base->kind == EXPR_NAME)
        v = scope_name(e, x->base->name, x->base->at);
    else
        v = eval_formula(e, NULL, x->base);
    if (v.kind == VALUE_BAD || v.kind == VALUE_TENSOR)
        return use(e, x->base->at, v);
    return elab_fail(e, x->base->at, "%s has no dimensions", kind_text(&v));
}

// How many dimensions `..` stands for; -1 if the list does not fit.
static int count_rest(Elab *e, const Expr *x, const Value *v)
{
    int named = 0, rest = 0;
    for (int i = 0; i < x->index.n; i++) {
        rest += x->index.at[i].kind == INDEX_REST;
        named += x->index.at[i].kind != INDEX_REST &&
                 x->index.at[i].kind != INDEX_NONE;
    }
    if (rest > 1) {
        elab_fail(e, x->at, "`..` stands twice in one list");
        return -1;
    }
    if (rest ? named <= v->rank : named == v->rank)
        return v->rank - named;
    elab_fail(e, x->at, "%s has %d dimension%s, %d are indexed", value_name(v),
              v->rank, v->rank == 1 ? "" : "s", named);
    return -1;
}

static bool read_slice(Elab *e, const Index *i, Slot *s, int64_t size)
{
    const char *what = "the end of a slice";
    s->label = -1;
    if (i->hi &&
        !value_int(e, eval_scalar(e, i->hi), i->at, what, 1, size, &s->hi))
        return false;
    what = "the start of a slice";
    return !i->lo || value_int(e, eval_scalar(e, i->lo), i->at, what, 0,
                               s->hi - 1, &s->lo);
}

static bool read_expr(Elab *e, const Index *i, Slots *slots, int64_t size,
                      Keep keep)
{
    Slot *s = &slots->at[slots->n - 1];
    Value v = eval(e, i->lo, keep);
    s->label = -1;
    if (v.kind == VALUE_BAD)
        return false;
    if (v.kind != VALUE_TENSOR) {
        s->is_point = true;
        if (!value_int(e, v, i->at, "an index", 0, size - 1, &s->lo))
            return false;
        s->hi = s->lo + 1;
        return true;
    }
    if (v.op->type.dtype != DT_i32) {
        elab_fail(e, i->at, "an index must be i32, %s is %s", value_name(&v),
                  dtype_name[v.op->type.dtype]);
        return false;
    }
    if (slots->gather >= 0) {
        elab_fail(e, i->at, "two tensors in one index list; gather twice");
        return false;
    }
    slots->gather = slots->n - 1;
    slots->ids = v;
    return true;
}

static bool read_name(Elab *e, const Index *i, Slots *slots, int label,
                      const Value *v)
{
    Slot *s = &slots->at[slots->n - 1];
    int d = slots->n - 1;
    s->label = label;
    for (int k = 0; k < d; k++) {
        if (label >= 0 && slots->at[k].label == label) {
            elab_fail(e, i->at, "index %s stands twice on %s",
                      label_name(e, label), value_name(v));
            return false;
        }
    }
    return label >= 0 && label_bind(e, label, value_dim(v, d), v->dim[d].size,
                                    value_name(v), i->at);
}

// Reads one entry of the list.
static bool read_entry(Elab *e, const Index *i, Slots *slots, int nrest,
                       const Value *v, Keep keep)
{
    int n = i->kind == INDEX_REST ? nrest : i->kind != INDEX_NONE;
    if (i->kind == INDEX_REST && !label_bind_rest(e, n, value_name(v), i->at))
        return false;
    for (int k = 0; k < n; k++) {
        int64_t size = value_dim(v, slots->n);
        slots->at[slots->n++] = (Slot){.index = i, .label = -1, .hi = size};
        Slot *s = &slots->at[slots->n - 1];
        bool ok = true;
        if (i->kind == INDEX_SLICE)
            ok = read_slice(e, i, s, size);
        else if (i->kind == INDEX_EXPR)
            ok = read_expr(e, i, slots, size, keep);
        else if (i->kind == INDEX_REST)
            ok = read_name(e, i, slots, e->formula->rest + k, v);
        else
            ok = read_name(e, i, slots, label_find(e, i->name, i->at), v);
        if (!ok)
            return false;
    }
    return true;
}

// Takes slices and points; the value's dimensions get their labels.
static Value take(Elab *e, Span at, Value v, Slots *slots)
{
    int64_t lo[MAX_RANK], hi[MAX_RANK];
    for (int i = 0; i < slots->n; i++) {
        lo[i] = slots->at[i].lo;
        hi[i] = slots->at[i].hi;
        v.dim[i].label = slots->at[i].label;
        if (slots->at[i].index->kind != INDEX_SLICE)
            continue;
        if (slots->at[i].index->lo || slots->at[i].index->hi)
            v.dim[i].size = NULL;
    }
    v.op = emit_slice(e, at, v.op, lo, hi);
    if (!v.op)
        return (Value){0};
    Type type = {.dtype = v.op->type.dtype};
    int gather = slots->gather;
    v.rank = 0;
    for (int i = 0; i < slots->n; i++) {
        if (i == slots->gather)
            gather = v.rank;
        if (slots->at[i].is_point)
            continue;
        v.dim[v.rank++] = v.dim[i];
        type.dim[type.rank++] = hi[i] - lo[i];
    }
    slots->gather = gather;
    if (type.rank < v.op->type.rank)
        v.op = emit_reshape(e, at, v.op, &type);
    return v.op ? v : (Value){0};
}

// `_` at the places where it stands in the list.
static Value stretch(Elab *e, const Expr *x, Value v, int nrest)
{
    int at = 0;
    for (int i = 0; i < x->index.n; i++) {
        const Index *index = &x->index.at[i];
        if (index->kind != INDEX_NONE) {
            at += index->kind == INDEX_REST ? nrest : 1;
            continue;
        }
        if (v.rank == MAX_RANK)
            return elab_fail(e, x->at, "more than %d dimensions", MAX_RANK);
        memmove(v.dim + at + 1, v.dim + at,
                sizeof *v.dim * (size_t)(v.rank - at));
        v.dim[at++] = (Dim){.label = -1, .stretch = true};
        v.rank++;
    }
    return v;
}

Value eval_index(Elab *e, const Expr *x, Keep keep)
{
    Value v = indexed_value(e, x);
    if (v.kind == VALUE_BAD)
        return v;
    int nrest = count_rest(e, x, &v);
    if (nrest < 0)
        return (Value){0};
    Slots slots = {.gather = -1};
    bool ok = true, has_none = false, has_point = false;
    for (int i = 0; i < x->index.n && ok; i++) {
        has_none |= x->index.at[i].kind == INDEX_NONE;
        ok = read_entry(e, &x->index.at[i], &slots, nrest, &v, keep);
    }
    for (int i = 0; i < slots.n; i++)
        has_point |= slots.at[i].is_point;
    if (!ok)
        return (Value){0};
    if (has_none && (has_point || slots.gather >= 0))
        return elab_fail(e, x->at,
                         "`_` beside a number or a tensor in one "
                         "index list");
    v = take(e, x->at, v, &slots);
    if (v.kind == VALUE_BAD)
        return v;
    if (slots.gather >= 0)
        return eval_gather(e, x->at, v, slots.gather, slots.ids);
    return has_none ? stretch(e, x, v, nrest) : v;
}
