// reshape: the same elements in row-major order under other sizes.
//
// Its rule cuts both shapes into common factors: where the running products
// of the sizes, from the major dimension on, form a chain of divisors, each
// ratio is a factor (8 -> 2 4: factors 2, 4). Where they do not (6 4 -> 4 6),
// only the common divisor of the leading sizes passes; the rest is whole.
#include <string.h>

#include "ir/build.h"
#include "op/util.h"

static bool infer_reshape(const Func *f, Op *op, Diag *d)
{
    (void)f;
    op->type.dtype = op->operand[0]->type.dtype;
    int64_t in = type_count(&op->operand[0]->type);
    int64_t out = type_count(&op->type);
    return in == out ||
           op_fail(op, d, "%ld elements to %ld", (long)in, (long)out);
}

static void push_factor(Rule *r, int t, int dim, int factor)
{
    DimFactors *df = &r->dim[t][dim];
    df->factor[df->n++] = (int8_t)factor;
}

static int64_t gcd(int64_t a, int64_t b)
{
    return b ? gcd(b, a % b) : a;
}

typedef struct Side { // the dimension being cut
    const Type *type;
    int dim;
    int64_t rest; // what is left of it
    int64_t cut;  // the factors before that, multiplied
} Side;

static void side_next(Side *s)
{
    while (s->rest == 1 && s->dim + 1 < s->type->rank) {
        s->rest = s->type->dim[++s->dim];
        s->cut = 1;
    }
}

// Cuts one factor off both sides; false if their sizes form no chain. What
// stands behind more than a gap can hold (2^31) is whole.
static bool cut_factor(Rule *r, Side side[2])
{
    int64_t size = side[0].rest < side[1].rest ? side[0].rest : side[1].rest;
    bool chain = side[0].rest % size == 0 && side[1].rest % size == 0;
    if (!chain)
        size = gcd(side[0].rest, side[1].rest);
    if (size > 1) {
        bool is_far = side[0].cut > INT32_MAX || side[1].cut > INT32_MAX;
        int f = rule_add(r, size, is_far ? FACTOR_WHOLE : FACTOR_PASS);
        for (int t = 0; t < 2; t++) {
            push_factor(r, t, side[t].dim, f);
            side[t].cut *= size;
            side[t].rest /= size;
        }
    }
    return chain;
}

// What is left after a break in the chain must be whole.
static void rest_is_whole(Rule *r, int t, Side s)
{
    for (; s.dim < s.type->rank; s.rest = s.type->dim[++s.dim]) {
        if (s.rest > 1)
            push_factor(r, t, s.dim, rule_add(r, s.rest, FACTOR_WHOLE));
        if (s.dim + 1 == s.type->rank)
            break;
    }
}

static void rule_reshape(const Op *op, Rule *r)
{
    *r = (Rule){0};
    Side side[2] = {{&op->operand[0]->type, -1, 1, 1}, {&op->type, -1, 1, 1}};
    bool chain = type_count(&op->type) > 0;
    side_next(&side[0]);
    side_next(&side[1]);
    while (chain && side[0].rest > 1 && side[1].rest > 1 &&
           r->nfactor < MAX_FACTORS - 2 * MAX_RANK) {
        chain = cut_factor(r, side);
        if (chain) {
            side_next(&side[0]);
            side_next(&side[1]);
        }
    }
    for (int t = 0; t < 2; t++)
        if (side[t].dim >= 0)
            rest_is_whole(r, t, side[t]);
}

static void eval_reshape(const Func *f, const Op *op, int64_t at,
                         const double *const in[], double *out)
{
    (void)f, (void)at;
    memcpy(out, in[0], sizeof *out * (size_t)type_count(&op->type));
}

static void grad_reshape(Func *f, const Op *op, Op *ct, Op *out[])
{
    out[0] = build_reshape(f, ct, &op->operand[0]->type);
}

const OpInfo op_reshape = {
    .name = "reshape",
    .noperand = 1,
    .attrs = {A_END},
    .linear = LINEAR_ALL,
    .infer = infer_reshape,
    .grad = grad_reshape,
    .rule = rule_reshape,
    .eval = eval_reshape,
};
