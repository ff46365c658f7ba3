#include "runtime/box.h"

#include <string.h>

#include "runtime/devices.h"

// The number of runs of consecutive entries that the gaps cut a dimension
// into.
static int64_t runs_of(const RtSplit *s)
{
    int64_t n = 1;
    for (int i = 0; i < s->n; i++)
        if (s->item[i] < 0)
            n *= -s->item[i];
    return n;
}

int64_t rt_box_count(const RtTensor *t)
{
    int64_t n = 1;
    for (int d = 0; d < t->rank; d++)
        n *= runs_of(&t->split[d]);
    return n;
}

RtBox rt_box(const RtProgram *p, const RtTensor *t, int64_t device, int64_t k)
{
    RtBox b = {0};
    for (int d = t->rank - 1; d >= 0; d--) {
        int64_t nrun = runs_of(&t->split[d]);
        int64_t length = t->local[d] / nrun;
        b.local[d] = k % nrun * length;
        k /= nrun;
        if (length == 0)
            continue;
        b.at[d] =
            rt_split_index(p, &t->split[d], t->local[d], device, b.local[d]);
        int64_t left = t->dim[d] - b.at[d];
        b.extent[d] = left < 0 ? 0 : left < length ? left : length;
    }
    return b;
}

int64_t rt_box_size(const RtTensor *t, const RtBox *b)
{
    int64_t n = 1;
    for (int d = 0; d < t->rank; d++)
        n *= b->extent[d];
    return n;
}

bool rt_box_meet(int rank, const RtBox *a, const RtBox *b, RtBox *both)
{
    *both = *a;
    for (int d = 0; d < rank; d++) {
        int64_t from = a->at[d] > b->at[d] ? a->at[d] : b->at[d];
        int64_t a_end = a->at[d] + a->extent[d];
        int64_t b_end = b->at[d] + b->extent[d];
        int64_t end = a_end < b_end ? a_end : b_end;
        if (end <= from)
            return false;
        both->at[d] = from;
        both->extent[d] = end - from;
        both->local[d] = a->local[d] + from - a->at[d];
    }
    return true;
}

static void copy(int rank, const int64_t extent[], int64_t bytes, RtArray from,
                 RtArray to)
{
    int64_t from_step = bytes, to_step = bytes;
    if (rank == 0) {
        memcpy(to.base, from.base, (size_t)bytes);
        return;
    }
    for (int d = 1; d < rank; d++) {
        from_step *= from.dim[d];
        to_step *= to.dim[d];
    }
    from.base += from.at[0] * from_step;
    to.base += to.at[0] * to_step;
    if (rank == 1) {
        memcpy(to.base, from.base, (size_t)(extent[0] * bytes));
        return;
    }
    for (int64_t i = 0; i < extent[0]; i++)
        copy(rank - 1, extent + 1, bytes,
             (RtArray){from.base + i * from_step, from.dim + 1, from.at + 1},
             (RtArray){to.base + i * to_step, to.dim + 1, to.at + 1});
}

// Minor dimensions that are whole in both make entries that are longer.
void rt_box_copy(int rank, const int64_t extent[], int64_t bytes, RtArray from,
                 RtArray to)
{
    for (; rank > 0; rank--) {
        int64_t n = extent[rank - 1];
        if (n != from.dim[rank - 1] || n != to.dim[rank - 1])
            break;
        bytes *= n;
    }
    for (int d = 0; d < rank; d++)
        if (extent[d] == 0)
            return;
    copy(rank, extent, bytes, from, to);
}

bool rt_has_padding(const RtProgram *p, const RtTensor *t)
{
    for (int d = 0; d < t->rank; d++)
        if (t->local[d] * rt_pieces(p, &t->split[d]) != t->dim[d])
            return true;
    return false;
}

int64_t rt_local_bytes(const RtTensor *t)
{
    int64_t n = rt_dtype_bytes(t->dtype);
    for (int d = 0; d < t->rank; d++)
        n *= t->local[d];
    return n;
}
