#include "emit/view.h"

#include <assert.h>

void view_add_loop(View *v, int64_t size, int64_t stride)
{
    assert(v->n < MAX_VIEW && v->rank < MAX_LOOPS);
    for (int i = v->n++; i > v->rank; i--)
        v->dim[i] = v->dim[i - 1];
    v->dim[v->rank++] = (ViewDim){size, stride, INDEX_LOOP, NULL};
}

void view_add_piece(View *v, const Mesh *m, const Split *split, int64_t stride)
{
    assert(v->n < MAX_VIEW);
    v->dim[v->n++] =
        (ViewDim){split_pieces(m, split), stride, INDEX_PIECE, split};
}

void view_add_turn(View *v, int64_t trip, int64_t stride)
{
    assert(v->n < MAX_VIEW);
    v->dim[v->n++] = (ViewDim){trip, stride, INDEX_TURN, NULL};
}

void row_major(const Type *t, int64_t stride[MAX_RANK])
{
    int64_t step = 1;
    for (int i = t->rank - 1; i >= 0; i--) {
        stride[i] = step;
        step *= t->dim[i];
    }
}

View view_identity(const Type *t)
{
    View v = {0};
    int64_t stride[MAX_RANK];
    row_major(t, stride);
    for (int i = 0; i < t->rank; i++)
        view_add_loop(&v, t->dim[i], stride[i]);
    return v;
}

// The loops of a view as places of a number: dimensions that behave as one
// are one.
typedef struct Places {
    int n;
    int64_t size[MAX_VIEW];
    int64_t unit[MAX_VIEW];   // elements of the outer view per step
    int64_t stride[MAX_VIEW]; // of the inner view
    int64_t most[MAX_VIEW];   // the largest index seen
} Places;

static Places places_of(const View *v)
{
    Places p = {0};
    int64_t unit = 1;
    for (int i = v->rank - 1; i >= 0; i--) {
        const ViewDim *d = &v->dim[i];
        int top = p.n - 1;
        if (d->size == 1)
            continue;
        if (p.n && d->stride == p.stride[top] * p.size[top]) {
            p.size[top] *= d->size;
        } else {
            p.size[p.n] = d->size;
            p.unit[p.n] = unit;
            p.stride[p.n++] = d->stride;
        }
        unit *= d->size;
    }
    return p;
}

// The place whose unit divides a stride, and how many units that is.
static bool find_place(const Places *p, int64_t stride, int *place,
                       int64_t *units)
{
    int i = p->n - 1;
    while (i >= 0 && p->unit[i] > stride)
        i--;
    if (i < 0 || stride % p->unit[i])
        return false;
    *place = i;
    *units = stride / p->unit[i];
    return true;
}

bool view_is_empty(const View *v)
{
    for (int i = 0; i < v->rank; i++)
        if (v->dim[i].size == 0)
            return true;
    return false;
}

bool view_compose(const View *outer, const View *inner, View *out)
{
    if (view_is_empty(outer) || view_is_empty(inner)) {
        View none = {0};
        for (int i = 0; i < outer->rank; i++)
            view_add_loop(&none, outer->dim[i].size, 0);
        *out = none;
        return true;
    }
    Places p = places_of(inner);
    int64_t rest = outer->at;
    View v = *outer;
    v.at = inner->at;
    for (int i = p.n - 1; i >= 0; i--) {
        p.most[i] = rest / p.unit[i];
        v.at += p.most[i] * p.stride[i];
        rest %= p.unit[i];
    }
    for (int i = 0; i < v.n; i++) {
        ViewDim *d = &v.dim[i];
        int place = 0;
        int64_t units = 0;
        bool is_down = d->stride < 0; // from `at`, which is the top
        if (d->stride == 0 || d->size <= 1) {
            d->stride = 0;
            continue;
        }
        if (!find_place(&p, is_down ? -d->stride : d->stride, &place, &units))
            return false;
        if (!is_down)
            p.most[place] += units * (d->size - 1);
        d->stride = (is_down ? -units : units) * p.stride[place];
    }
    for (int i = 0; i < p.n; i++)
        if (p.most[i] >= p.size[i])
            return false;
    for (int i = inner->rank; i < inner->n; i++) {
        assert(v.n < MAX_VIEW);
        v.dim[v.n++] = inner->dim[i];
    }
    *out = v;
    return true;
}

static bool dim_equal(const ViewDim *a, const ViewDim *b)
{
    return a->size == b->size && a->stride == b->stride && a->kind == b->kind &&
           (a->kind != INDEX_PIECE || split_equal(a->split, b->split));
}

// A loop that one view lacks is one that the other does not change with.
bool view_equal(const View *a, const View *b)
{
    const View *more = a->rank > b->rank ? a : b;
    int rank = a->rank < b->rank ? a->rank : b->rank;
    if (a->at != b->at || a->n - a->rank != b->n - b->rank)
        return false;
    for (int i = 0; i < rank; i++)
        if (!dim_equal(&a->dim[i], &b->dim[i]))
            return false;
    for (int i = rank; i < more->rank; i++)
        if (more->dim[i].stride)
            return false;
    for (int i = 0; i < a->n - a->rank; i++)
        if (!dim_equal(&a->dim[a->rank + i], &b->dim[b->rank + i]))
            return false;
    return true;
}

bool view_is_dense(const View *v)
{
    int64_t step = 1;
    for (int i = v->rank; i < v->n; i++)
        if (v->dim[i].kind == INDEX_PIECE)
            return false;
    for (int i = v->rank - 1; i >= 0; i--) {
        if (v->dim[i].size != 1 && v->dim[i].stride != step)
            return false;
        step *= v->dim[i].size;
    }
    return true;
}

bool view_is_identity(const View *v)
{
    return v->at == 0 && v->n == v->rank && view_is_dense(v);
}
