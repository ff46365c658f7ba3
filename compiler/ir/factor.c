#include <stdalign.h>
#include <stddef.h>
#include <string.h>

#include "ir/factor.h"

static size_t placement_bytes(const Rule *r)
{
    size_t n = r ? (size_t)r->nfactor : 0;
    return offsetof(Placement, factor) + n * sizeof(Split);
}

Placement *placement_new(Arena *a, const Rule *r)
{
    return arena_alloc(a, 1, alignof(Placement), placement_bytes(r));
}

void placement_copy(Placement *to, const Placement *from, const Rule *r)
{
    memcpy(to, from, placement_bytes(r));
}

static bool allows(FactorKind kind, int32_t item)
{
    if (kind == FACTOR_WHOLE)
        return false;
    return item >= 0 || kind == FACTOR_PASS || kind == FACTOR_REDUCE;
}

// Cuts the split of one dimension into splits of its several factors.
static void cut_split(const Mesh *m, const Rule *r, const DimFactors *df,
                      const Split *s, Split out[MAX_FACTORS])
{
    int k = 0; // the factor at hand, and what of it is still unsplit
    int64_t rest = df->n ? r->size[df->factor[0]] : 1;
    for (int i = 0; i < s->n; i++) {
        int64_t size =
            s->item[i] < 0 ? -(int64_t)s->item[i] : m->atom[s->item[i]].size;
        while (size > 1) {
            while (rest == 1 && k + 1 < df->n)
                rest = r->size[df->factor[++k]];
            bool is_gap = s->item[i] < 0;
            int64_t part = is_gap && size > rest ? rest : size;
            if (rest == 1 || rest % part || size % part ||
                !allows(r->kind[df->factor[k]], s->item[i]))
                return;
            split_push(&out[df->factor[k]],
                       is_gap ? -(int32_t)part : s->item[i]);
            rest /= part;
            size /= part;
        }
    }
}

// Whether a factor stands with others in a dimension of some tensor: its
// pieces must be even there.
static bool is_merged(const Rule *r, int factor)
{
    for (int t = 0; t < MAX_TENSORS; t++)
        for (int i = 0; i < MAX_RANK; i++)
            for (int k = 0; r->dim[t][i].n > 1 && k < r->dim[t][i].n; k++)
                if (r->dim[t][i].factor[k] == factor)
                    return true;
    return false;
}

// The split of a dimension that is one factor.
static void take_split(const Mesh *m, const Rule *r, int factor, const Split *s,
                       Split *out)
{
    int64_t parts = 1;
    for (int k = 0; k < s->n; k++) {
        int32_t item = s->item[k];
        parts *= item < 0 ? -item : m->atom[item].size;
        if (!allows(r->kind[factor], item) ||
            (r->size[factor] % parts && is_merged(r, factor)))
            return;
        split_push(out, item);
    }
}

void factors_from_sharding(const Mesh *m, const Rule *r, int t, int rank,
                           const Sharding *s, Split out[MAX_FACTORS])
{
    for (int i = 0; i < rank; i++) {
        const DimFactors *df = &r->dim[t][i];
        if (df->n > 1) {
            cut_split(m, r, df, &s->dim[i], out);
        } else if (df->n == 1) {
            int f = df->factor[0];
            take_split(m, r, f, &s->dim[i], &out[f]);
        }
    }
    for (int f = 0; f < r->nfactor; f++)
        split_trim(&out[f]);
}

// The factor after which no factor of the dimension is split.
static int last_split(const DimFactors *df, const Placement *p)
{
    int last = -1;
    for (int k = 0; k < df->n; k++)
        if (p->factor[df->factor[k]].n)
            last = k;
    return last;
}

void sharding_from_factors(const Mesh *m, const Rule *r, int t, int rank,
                           const Placement *p, Sharding *out)
{
    for (int i = 0; i < rank; i++) {
        const DimFactors *df = &r->dim[t][i];
        int last = last_split(df, p);
        out->dim[i].n = 0;
        for (int k = 0; k <= last; k++) {
            const Split *s = &p->factor[df->factor[k]];
            int64_t rest = r->size[df->factor[k]];
            split_append(&out->dim[i], s);
            for (int j = 0; j < s->n; j++)
                rest /= s->item[j] < 0 ? -s->item[j] : m->atom[s->item[j]].size;
            if (k < last)
                split_push(&out->dim[i], (int32_t)-rest);
        }
    }
}

void place_tensor(const Mesh *m, const Op *op, const Rule *r, int t,
                  const Placement *p, Sharding *out)
{
    bool is_result = t == op->noperand;
    int rank = is_result ? op->type.rank : op->operand[t]->type.rank;
    sharding_from_factors(m, r, t, rank, p, out);
    bool carries =
        is_result || p->carrier == ALL_OPERANDS || p->carrier == t + 1;
    out->partial = carries ? p->carried : 0;
    out->combiner = COMBINE_sum;
    for (int f = 0; is_result && f < r->nfactor; f++) {
        if (r->kind[f] == FACTOR_REDUCE || r->kind[f] == FACTOR_LOOKUP) {
            out->partial |= split_atoms(&p->factor[f]);
            out->combiner = r->combiner;
        }
    }
}

Sharding placement_of(const Mesh *m, const Op *op, const Rule *r, int t,
                      const Placement *p)
{
    Sharding s = {0};
    place_tensor(m, op, r, t, p, &s);
    return s;
}

Type pending_type(const Op *op, const Rule *r, const Sharding *s)
{
    Type t = op->type;
    bool is_wide = t.dtype == DT_bf16 && !op_str(op, A_dtype) && s->partial &&
                   s->combiner == COMBINE_sum && op_role(op) != ROLE_argument;
    for (int f = 0; r && f < r->nfactor; f++)
        is_wide &= r->kind[f] != FACTOR_LOOKUP;
    if (is_wide)
        t.dtype = DT_f32;
    return t;
}
