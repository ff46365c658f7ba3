// A dimension is a few runs of consecutive entries (one, unless its split has
// gaps); what is minor to the last split dimension moves as one block.
#include "runtime/part.h"

#include <string.h>

#include "runtime/devices.h"

typedef struct Part {
    const RtProgram *p;
    const RtTensor *t;
    int64_t device;
    bool gather;
    int last; // the last dimension that is split; -1: none is
    int64_t local_bytes[RT_MAX_RANK]; // of an entry of a dimension
    int64_t global_bytes[RT_MAX_RANK];
} Part;

static Part part_of(const RtProgram *p, const RtTensor *t, int64_t device)
{
    Part part = {.p = p, .t = t, .device = device, .last = -1};
    int64_t local = rt_dtype_bytes(t->dtype), global = local;
    for (int d = t->rank - 1; d >= 0; d--) {
        part.local_bytes[d] = local;
        part.global_bytes[d] = global;
        local *= t->local[d];
        global *= t->dim[d];
        if (rt_pieces(p, &t->split[d]) > 1 && part.last < d)
            part.last = d;
    }
    return part;
}

static void move(const Part *part, char *global, char *local, int64_t bytes)
{
    if (part->gather)
        memcpy(global, local, (size_t)bytes);
    else
        memcpy(local, global, (size_t)bytes);
}

// The number of runs that the gaps cut a device's entries into.
static int64_t runs_of(const RtSplit *s)
{
    int64_t n = 1;
    for (int i = 0; i < s->n; i++)
        if (s->item[i] < 0)
            n *= -s->item[i];
    return n;
}

static void walk(const Part *part, int d, char *global, char *local)
{
    const RtTensor *t = part->t;
    int64_t nrun = runs_of(&t->split[d]);
    int64_t length = t->local[d] / nrun;
    for (int64_t r = 0; r < nrun; r++) {
        int64_t at = rt_split_index(part->p, &t->split[d], t->local[d],
                                    part->device, r * length);
        int64_t n = t->dim[d] - at < length ? t->dim[d] - at : length;
        char *g = global + at * part->global_bytes[d];
        char *l = local + r * length * part->local_bytes[d];
        if (n > 0 && d == part->last)
            move(part, g, l, n * part->local_bytes[d]);
        for (int64_t i = 0; i < n && d != part->last; i++)
            walk(part, d + 1, g + i * part->global_bytes[d],
                 l + i * part->local_bytes[d]);
    }
}

static void move_all(const Part *part, char *global, char *local)
{
    if (part->last < 0)
        move(part, global, local, rt_tensor_bytes(part->t));
    else
        walk(part, 0, global, local);
}

static bool has_padding(const Part *part)
{
    const RtTensor *t = part->t;
    for (int d = 0; d < t->rank; d++)
        if (t->local[d] * rt_pieces(part->p, &t->split[d]) != t->dim[d])
            return true;
    return false;
}

static int64_t local_bytes(const RtTensor *t)
{
    int64_t n = rt_dtype_bytes(t->dtype);
    for (int d = 0; d < t->rank; d++)
        n *= t->local[d];
    return n;
}

void rt_scatter(const RtProgram *p, const RtTensor *t, int64_t device,
                const char *global, char *local)
{
    Part part = part_of(p, t, device);
    if (has_padding(&part))
        memset(local, 0, (size_t)local_bytes(t));
    move_all(&part, (char *)global, local);
}

// Whether no device with a lower number holds the same part.
static bool is_first(const RtProgram *p, const RtTensor *t, int64_t device)
{
    uint64_t split = 0;
    for (int d = 0; d < t->rank; d++)
        for (int i = 0; i < t->split[d].n; i++)
            if (t->split[d].item[i] >= 0)
                split |= (uint64_t)1 << t->split[d].item[i];
    for (int a = 0; a < p->natom; a++)
        if (!(split >> a & 1) &&
            device / p->atom[a].stride % p->atom[a].size != 0)
            return false;
    return true;
}

void rt_gather(const RtProgram *p, const RtTensor *t, int64_t device,
               const char *local, char *global)
{
    Part part = part_of(p, t, device);
    part.gather = true;
    if (is_first(p, t, device))
        move_all(&part, global, (char *)local);
}

int64_t rt_tensor_bytes(const RtTensor *t)
{
    int64_t n = rt_dtype_bytes(t->dtype);
    for (int d = 0; d < t->rank; d++)
        n *= t->dim[d];
    return n;
}
