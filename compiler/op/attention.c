// attention: softmax(q k^T) v within segments, causal by place in the row.
//
//   q [b,s,h,d]  k [b,t,h,d]  v [b,t,h,v]  seg_q [b,s]  seg_k [b,t] ->
//   [b,s,h,v]
//
// The query comes scaled. Queries may be split over s (they know their place
// by `offset`), keys are whole. A row whose keys are all masked attends to all
// of them alike, as in MaxText.
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "ir/build.h"
#include "op/util.h"

enum {
    Q,
    K,
    V,
    SEG_Q,
    SEG_K,
};

static bool infer_attention(const Func *f, Op *op, Diag *d)
{
    (void)f;
    const Type *t[5];
    for (int i = 0; i < 5; i++)
        t[i] = &op->operand[i]->type;
    if (t[Q]->rank != 4 || t[K]->rank != 4 || t[V]->rank != 4 ||
        t[SEG_Q]->rank != 2 || t[SEG_K]->rank != 2)
        return op_fail(op, d, "wants ranks 4, 4, 4, 2, 2");
    if (t[Q]->dtype != t[K]->dtype || t[Q]->dtype != t[V]->dtype ||
        !dtype_is_float(t[Q]->dtype))
        return op_fail(op, d, "query, key and value must be of one float type");
    if (t[SEG_Q]->dtype != DT_i32 || t[SEG_K]->dtype != DT_i32)
        return op_fail(op, d, "segments must be i32");
    const int64_t *q = t[Q]->dim, *k = t[K]->dim, *v = t[V]->dim;
    if (q[0] != k[0] || k[0] != v[0] || q[0] != t[SEG_Q]->dim[0] ||
        q[0] != t[SEG_K]->dim[0] || q[2] != k[2] || k[2] != v[2] ||
        q[3] != k[3] || k[1] != v[1] || q[1] != t[SEG_Q]->dim[1] ||
        k[1] != t[SEG_K]->dim[1])
        return op_fail(op, d,
                       "operands disagree in batch, heads, lengths or "
                       "head sizes");
    op->type = *t[Q];
    op->type.dim[3] = v[3];
    return true;
}

static void rule_attention(const Op *op, Rule *r)
{
    const int64_t *q = op->operand[Q]->type.dim, *v = op->operand[V]->type.dim;
    *r = (Rule){0};
    int b = rule_add(r, q[0], FACTOR_PASS);
    int s = rule_add(r, q[1], FACTOR_POSITION);
    int h = rule_add(r, q[2], FACTOR_PASS);
    int t = rule_add(r, v[1], FACTOR_WHOLE);
    int e = rule_add(r, q[3], FACTOR_WHOLE);
    int o = rule_add(r, v[3], FACTOR_PASS);
    const int factors[6][4] = {{b, s, h, e}, {b, t, h, e}, {b, t, h, o},
                               {b, s},       {b, t},       {b, s, h, o}};
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < (i == SEG_Q || i == SEG_K ? 2 : 4); k++)
            rule_set(r, i, k, factors[i][k]);
}

typedef struct Head { // one head of one row, with the strides between tokens
    const double *q, *k, *v, *seg_q, *seg_k;
    double *out;
    int64_t s, t, d, o, q_step, v_step;
    int64_t first; // place of query 0 in the row
    bool is_causal;
} Head;

// One query: scores, softmax, and the weighted sum of the values.
static void attend(const Head *h, int64_t i, double *p)
{
    double max = -INFINITY, sum = 0;
    for (int64_t t = 0; t < h->t; t++) {
        p[t] = -0.7 * FLT_MAX;
        if (h->seg_q[i] == h->seg_k[t] &&
            (!h->is_causal || t <= h->first + i)) {
            p[t] = 0;
            for (int64_t e = 0; e < h->d; e++)
                p[t] += h->q[i * h->q_step + e] * h->k[t * h->q_step + e];
        }
        max = fmax(max, p[t]);
    }
    for (int64_t t = 0; t < h->t; t++)
        sum += p[t] = exp(p[t] - max);
    for (int64_t o = 0; o < h->o; o++) {
        double y = 0;
        for (int64_t t = 0; t < h->t; t++)
            y += p[t] * h->v[t * h->v_step + o];
        h->out[i * h->v_step + o] = y / sum;
    }
}

static void eval_attention(const Func *f, const Op *op, int64_t at,
                           const double *const in[], double *out)
{
    const int64_t *q = op->operand[Q]->type.dim, *v = op->operand[V]->type.dim;
    int64_t s = q[1], heads = q[2], t = v[1], e = q[3], o = v[3];
    double *p = malloc(sizeof *p * (size_t)(t + 1));
    for (int64_t i = 0; i < q[0] * heads; i++) {
        int64_t b = i / heads, h = i % heads;
        Head head = {
            .q = in[Q] + (b * s * heads + h) * e,
            .k = in[K] + (b * t * heads + h) * e,
            .v = in[V] + (b * t * heads + h) * o,
            .seg_q = in[SEG_Q] + b * s,
            .seg_k = in[SEG_K] + b * t,
            .out = out + (b * s * heads + h) * o,
            .s = s,
            .t = t,
            .d = e,
            .o = o,
            .q_step = heads * e,
            .v_step = heads * o,
            .first = op_offset(f, op, at, s),
            .is_causal = op_int(op, A_causal, 0) != 0,
        };
        for (int64_t k = 0; k < s && p; k++)
            attend(&head, k, p);
    }
    free(p);
}

// --- the gradient, from ops that are there ------------------------------------

typedef struct Scores { // [b, h, s, t], in f32
    Func *f;
    Type type;
    Op *mask, *p;
} Scores;

static Op *spread(const Scores *x, Op *value, const int64_t dims[])
{
    return build_broadcast(x->f, value, &x->type, dims);
}

static Op *position(const Scores *x, int dim)
{
    Type t = x->type;
    t.dtype = DT_i32;
    return build_iota(x->f, &t, dim);
}

// Where a query may look.
static Op *build_mask(const Scores *x, const Op *op)
{
    Op *mask = build_compare(
        x->f, "eq", spread(x, op->operand[SEG_Q], (int64_t[]){0, 2}),
        spread(x, op->operand[SEG_K], (int64_t[]){0, 3}));
    if (op_int(op, A_causal, 0))
        mask = build_binary(
            x->f, OP_and, mask,
            build_compare(x->f, "ge", position(x, 2), position(x, 3)));
    return mask;
}

static void build_scores(Scores *x, Func *f, const Op *op)
{
    const int64_t *q = op->operand[Q]->type.dim;
    static const int64_t rows[] = {0, 1, 2}, keys[] = {3};
    const char *wide = op->type.dtype == DT_bf16 ? "f32" : NULL;
    x->f = f;
    x->type = (Type){DT_f32, 4, {q[0], q[2], q[1], op->operand[K]->type.dim[1]}};
    Op *s = build_einsum(f, "bshd,bthd->bhst", op->operand[Q], op->operand[K],
                         wide);
    x->mask = build_mask(x, op);
    s = build_select(f, x->mask, s, build_like(f, s, -0.7 * FLT_MAX));
    Op *top = build_reduce(f, OP_reduce_max, s, 1, keys);
    s = build_binary(f, OP_subtract, s, spread(x, top, rows));
    s = build_unary(f, OP_exp, s);
    Op *sum = build_reduce(f, OP_reduce_sum, s, 1, keys);
    x->p = build_binary(f, OP_divide, s, spread(x, sum, rows));
}

// A masked score is a constant: nothing goes through it to q and k.
static void grad_attention(Func *f, const Op *op, Op *ct, Op *out[])
{
    Scores x;
    static const int64_t rows[] = {0, 1, 2}, keys[] = {3};
    DType t = op->type.dtype;
    const char *wide = t == DT_bf16 ? "f32" : NULL;
    build_scores(&x, f, op);
    out[V] = build_einsum(f, "bhst,bshv->bthv", build_convert(f, x.p, t), ct,
                          NULL);
    Op *dp = build_einsum(f, "bshv,bthv->bhst", ct, op->operand[V], wide);
    Op *mean = build_reduce(f, OP_reduce_sum,
                            build_binary(f, OP_multiply, dp, x.p), 1, keys);
    Op *ds = build_binary(f, OP_subtract, dp, spread(&x, mean, rows));
    ds = build_binary(f, OP_multiply, ds, x.p);
    ds = build_select(f, x.mask, ds, build_like(f, ds, 0));
    ds = build_convert(f, ds, t);
    out[Q] = build_einsum(f, "bhst,bthd->bshd", ds, op->operand[K], NULL);
    out[K] = build_einsum(f, "bhst,bshd->bthd", ds, op->operand[Q], NULL);
}

const OpInfo op_attention = {
    .name = "attention",
    .noperand = 5,
    .attrs = {A_causal, A_END},
    .infer = infer_attention,
    .grad = grad_attention,
    .rule = rule_attention,
    .eval = eval_attention,
};
