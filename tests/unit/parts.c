#include "parts.h"

#include <math.h>

double *distinct(Arena *a, const Type *t, unsigned seed)
{
    int64_t n = type_count(t);
    double *x = arena_new(a, double, (size_t)n + 1);
    for (int64_t i = 0; i < n; i++) {
        if (t->dtype == DT_i32)
            x[i] = (double)((i * 7 + seed) % 6);
        else if (t->dtype == DT_bool)
            x[i] = (double)((i * 5 + seed) % 3 == 0);
        else
            x[i] = 0.5 + (double)((i * 37 + 11 * seed) % 101) / 64;
    }
    return x;
}

// The index in the whole tensor of entry i of a device's part; -1 in padding.
static int64_t whole_index(const Mesh *m, const Type *t, const Sharding *s,
                           int64_t device, int64_t i)
{
    Type local = type_local(m, t, s);
    int64_t at = 0, step = 1;
    for (int d = t->rank - 1; d >= 0; d--) {
        int64_t k = split_index(m, &s->dim[d], t->dim[d], device,
                                i % local.dim[d]);
        if (k >= t->dim[d])
            return -1;
        i /= local.dim[d];
        at += k * step;
        step *= t->dim[d];
    }
    return at;
}

bool is_padding(const Mesh *m, const Type *t, const Sharding *s, int64_t device,
                int64_t i)
{
    return whole_index(m, t, s, device, i) < 0;
}

// What a device holds of a pending x. Of a sum: -2, and the first device of
// the group makes up for the others. Of a maximum or minimum: x on the first,
// worse on the others.
static double share(const Mesh *m, const Sharding *s, int64_t device, double x)
{
    int64_t group = 1;
    bool is_first = true;
    for (int a = 0; a < m->natom; a++) {
        if (!(s->partial >> a & 1))
            continue;
        group *= m->atom[a].size;
        is_first &= mesh_coord(m, device, a) == 0;
    }
    if (!s->partial)
        return x;
    if (s->combiner != COMBINE_sum)
        return is_first ? x : s->combiner == COMBINE_max ? x - 1 : x + 1;
    return is_first ? x + 2 * (double)(group - 1) : -2;
}

double **scatter(Arena *a, const Mesh *m, const Type *t, const Sharding *s,
                 const double *whole)
{
    Type local = type_local(m, t, s);
    int64_t n = type_count(&local);
    double **part = arena_new(a, double *, (size_t)m->ndevice);
    for (int64_t d = 0; d < m->ndevice; d++) {
        part[d] = arena_new(a, double, (size_t)n + 1);
        for (int64_t i = 0; i < n; i++) {
            int64_t k = whole_index(m, t, s, d, i);
            if (k >= 0)
                part[d][i] = share(m, s, d, whole[k]);
        }
    }
    return part;
}

// Infinite if one is no number or infinite and the other is not.
static double distance(double a, double b)
{
    if (a == b || (isnan(a) && isnan(b)))
        return 0;
    return isnan(a - b) ? INFINITY : fabs(a - b);
}

double difference(const Mesh *m, const Type *t, const Sharding *s,
                  const double *whole, double *const part[])
{
    Type local = type_local(m, t, s);
    double worst = 0;
    for (int64_t d = 0; d < m->ndevice; d++) {
        for (int64_t i = 0; i < type_count(&local); i++) {
            int64_t k = whole_index(m, t, s, d, i);
            double off = k < 0 ? 0 : distance(part[d][i], whole[k]);
            worst = off > worst ? off : worst;
        }
    }
    return worst;
}
