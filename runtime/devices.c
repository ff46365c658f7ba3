#include "runtime/devices.h"

const char *const rt_dtype_name[] = {"f32", "bf16", "i32", "bool"};

const char *const rt_collective_name[] = {
    "all_gather", "reduce_scatter",     "all_reduce",
    "all_to_all", "collective_permute",
};

static const void *table(const RtProgram *p, int64_t offset)
{
    return (const char *)p + offset;
}

const RtStep *rt_steps(const RtProgram *p)
{
    return table(p, p->steps);
}

const RtCollective *rt_collectives(const RtProgram *p)
{
    return table(p, p->collectives);
}

const RtTensor *rt_tensors(const RtProgram *p)
{
    return table(p, p->tensors);
}

const RtConstant *rt_constants(const RtProgram *p)
{
    return table(p, p->constants);
}

const RtProbe *rt_probes(const RtProgram *p)
{
    return table(p, p->probes);
}

int64_t rt_dtype_bytes(int dtype)
{
    static const int64_t bytes[] = {4, 2, 4, 1};
    return bytes[dtype];
}

static int64_t coord(const RtProgram *p, int64_t device, int atom)
{
    return device / p->atom[atom].stride % p->atom[atom].size;
}

int64_t rt_pieces(const RtProgram *p, const RtSplit *s)
{
    int64_t n = 1;
    for (int i = 0; i < s->n; i++)
        if (s->item[i] >= 0)
            n *= p->atom[s->item[i]].size;
    return n;
}

int64_t rt_piece(const RtProgram *p, const RtSplit *s, int64_t device)
{
    int64_t k = 0;
    for (int i = 0; i < s->n; i++)
        if (s->item[i] >= 0)
            k = k * p->atom[s->item[i]].size + coord(p, device, s->item[i]);
    return k;
}

int64_t rt_peer(const RtProgram *p, const RtSplit *s, int64_t device, int64_t k)
{
    for (int i = s->n - 1; i >= 0; i--) {
        if (s->item[i] < 0)
            continue;
        const RtAtom *a = &p->atom[s->item[i]];
        device += (k % a->size - coord(p, device, s->item[i])) * a->stride;
        k /= a->size;
    }
    return device;
}

// Walks the items from the major one; a gap takes its digit from the local
// index, an atom from the device's coordinate.
int64_t rt_split_index(const RtProgram *p, const RtSplit *s, int64_t local,
                       int64_t device, int64_t i)
{
    int64_t whole = local * rt_pieces(p, s);
    int64_t at = 0;
    for (int k = 0; k < s->n; k++) {
        int32_t item = s->item[k];
        if (item < 0) {
            whole /= -item;
            local /= -item;
            at += i / local * whole;
            i %= local;
        } else {
            whole /= p->atom[item].size;
            at += coord(p, device, item) * whole;
        }
    }
    return at + i;
}
