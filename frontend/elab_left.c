// The left side of a statement: y[b, s, e] = ... gives the value this order.
#include <string.h>

#include "frontend/elab.h"

// The label of dimension i of the left side, `..` spread out.
static int left_label(const Elab *e, const Indexes *left, int rank, int i,
                      const Index **index)
{
    int rest = rank - (left->n - 1);
    for (int k = 0; k < left->n; k++) {
        *index = &left->at[k];
        bool is_rest = left->at[k].kind == INDEX_REST;
        int n = is_rest ? rest : 1;
        if (i < n && is_rest)
            return e->formula->rest + i;
        if (i < n)
            break;
        i -= n;
    }
    for (int l = 0; l < e->formula->nlabel; l++)
        if (strcmp(e->formula->label[l].name, (*index)->name) == 0)
            return l;
    return 0;
}

// Reports an index of the right side that the left side lacks, or the reverse.
static bool check_left(Elab *e, const Indexes *left, Labels want,
                       const Value *v, Span at)
{
    Labels have = value_labels(v);
    bool ok = true;
    for (int l = 0; l < e->formula->nlabel && ok; l++) {
        bool on_left = want >> l & 1, on_right = have >> l & 1;
        const char *name = label_name(e, l);
        if (on_left && !on_right)
            elab_fail(e, left->n ? left->at[0].at : at,
                      "index %s is on the left but not on the right", name);
        if (on_right && !on_left)
            elab_fail(e, at,
                      "index %s is not on the left and no product sums it; "
                      "write sum(%s)",
                      name, name);
        ok = on_left == on_right;
    }
    return ok;
}

// The number of dimensions the left side has; -1: not that of the value.
static int left_rank(const Elab *e, const Indexes *left, const Value *v,
                     bool by_place)
{
    bool has_rest = false;
    for (int i = 0; i < left->n; i++)
        has_rest |= left->at[i].kind == INDEX_REST;
    if (by_place)
        return (has_rest ? v->rank >= left->n - 1 : v->rank == left->n)
                   ? v->rank
                   : -1;
    if (!has_rest)
        return left->n;
    return e->formula->nrest < 0 ? v->rank : left->n - 1 + e->formula->nrest;
}

Value arrange_left(Elab *e, const Indexes *left, Value v, Span at)
{
    if (v.kind == VALUE_BAD || (v.kind != VALUE_TENSOR && left->n == 0))
        return v;
    if (v.kind != VALUE_TENSOR)
        return elab_fail(e, at, "indices on the left of %s", kind_text(&v));
    bool by_place = has_place_only(&v);
    int rank = left_rank(e, left, &v, by_place);
    if (rank < 0 || rank > MAX_RANK)
        return elab_fail(e, at, "%d indices on the left of %d dimensions",
                         left->n, v.rank);
    Value to = {.kind = VALUE_TENSOR, .rank = rank};
    const Index *index = NULL;
    Labels want = 0;
    for (int i = 0; i < rank; i++) {
        int label = left_label(e, left, rank, i, &index);
        if (want >> label & 1)
            return (Value){0}; // it stands twice, which was said
        to.dim[i].label = label;
        want |= (Labels)1 << label;
        if (by_place && v.dim[i].label >= 0 && v.dim[i].label != label)
            return elab_fail(e, index->at, "dimension %d is %s on the right",
                             i + 1, label_name(e, v.dim[i].label));
    }
    if (!by_place && !check_left(e, left, want, &v, at))
        return (Value){0};
    return reorder(e, at, v, &to, by_place);
}
