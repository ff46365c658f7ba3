// Values: making them, and what messages call them.
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "frontend/elab.h"

Value value_number(double x)
{
    return (Value){.kind = VALUE_NUMBER, .number = x};
}

Value value_bool(bool x)
{
    return (Value){.kind = VALUE_BOOL, .number = x};
}

Value value_symbol(const char *s)
{
    return (Value){.kind = VALUE_SYMBOL, .symbol = s};
}

Value value_axes(const Axes *axes)
{
    return (Value){.kind = VALUE_AXES, .axes = axes};
}

Value value_tensor(Op *op)
{
    Value v = {.kind = op ? VALUE_TENSOR : VALUE_BAD, .op = op};
    v.rank = op ? op->type.rank : 0;
    for (int i = 0; i < MAX_RANK; i++)
        v.dim[i].label = -1;
    return v;
}

bool value_is_whole(const Value *v)
{
    for (int i = 0; i < v->rank; i++)
        if (v->dim[i].label >= 0 || v->dim[i].stretch)
            return false;
    return true;
}

Labels value_labels(const Value *v)
{
    Labels set = 0;
    for (int i = 0; i < v->rank; i++)
        if (v->dim[i].label >= 0)
            set |= (Labels)1 << v->dim[i].label;
    return set;
}

// The dimension of the op that dimension i of the value is.
static int op_dim(const Value *v, int i)
{
    int at = 0;
    for (int k = 0; k < i; k++)
        at += !v->dim[k].stretch;
    return at;
}

int64_t value_dim(const Value *v, int i)
{
    return v->dim[i].stretch ? 1 : v->op->type.dim[op_dim(v, i)];
}

bool value_int(Elab *e, Value v, Span at, const char *what, int64_t lo,
               int64_t hi, int64_t *out)
{
    if (v.kind == VALUE_BAD)
        return false;
    if (v.kind != VALUE_NUMBER) {
        elab_fail(e, at, "%s wants a number, has %s", what, kind_text(&v));
        return false;
    }
    if (v.number != floor(v.number)) {
        elab_fail(e, at, "%s must be a whole number, is %g", what, v.number);
        return false;
    }
    if (v.number < (double)lo || v.number > (double)hi) {
        bool low = v.number < (double)lo;
        elab_fail(e, at, "%s is %.15g, must be at %s %" PRId64, what, v.number,
                  low ? "least" : "most", low ? lo : hi);
        return false;
    }
    *out = (int64_t)v.number;
    return true;
}

const char *value_name(const Value *v)
{
    return v->name ? v->name : "this value";
}

const char *dim_text(Elab *e, const Value *v, int i)
{
    long size = (long)value_dim(v, i);
    if (v->dim[i].size)
        return arena_printf(e->arena, "%s = %ld", v->dim[i].size, size);
    return arena_printf(e->arena, "%ld", size);
}

const char *kind_text(const Value *v)
{
    switch (v->kind) {
    case VALUE_NUMBER: return "a number";
    case VALUE_BOOL: return "a truth";
    case VALUE_SYMBOL: return "a word";
    case VALUE_AXES: return "a list of axes";
    case VALUE_TENSOR: return "a tensor";
    case VALUE_BAD: break;
    }
    return "nothing";
}

// As it is written, spaces made regular.
const char *expr_text(Elab *e, const Expr *x)
{
    Arena *a = e->arena;
    switch (x->kind) {
    case EXPR_NUMBER: return arena_printf(a, "%g", x->number);
    case EXPR_NAME: return x->name;
    case EXPR_FIELD:
        return arena_printf(a, "%s.%s", expr_text(e, x->base), x->name);
    case EXPR_BINARY:
        return arena_printf(a, "%s %s %s", expr_text(e, x->args.at[0]), x->name,
                            expr_text(e, x->args.at[1]));
    default: break;
    }
    if (!x->at.source || !x->at.source->text)
        return "?";
    return arena_strndup(a, x->at.source->text + x->at.start,
                         (size_t)(x->at.end - x->at.start));
}
