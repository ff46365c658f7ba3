// route: which experts a token goes to.
//
//   chooser [.., n] -> i32 [.., k], best first, ties to the lower index
//
// With groups, only experts of the best `top_groups` groups may be chosen; a
// group's score is the sum of its two best (DeepSeek-V3) or its best (V2).
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "op/util.h"

enum {
    MAX_EXPERTS = 4096,
};

static bool infer_route(const Func *f, Op *op, Diag *d)
{
    (void)f;
    const Type *in = &op->operand[0]->type;
    int64_t k = op_int(op, A_k, 0), groups = op_int(op, A_groups, 0);
    int64_t top = op_int(op, A_top_groups, 0);
    const char *score = op_str(op, A_group_score);
    int64_t n = in->rank ? in->dim[in->rank - 1] : 0;
    if (!dtype_is_float(in->dtype))
        return op_fail(op, d, "wants a float type");
    if (n < 1 || n > MAX_EXPERTS || k < 1 || k > n)
        return op_fail(op, d, "cannot choose %ld of %ld", (long)k, (long)n);
    if (groups < 0 || (groups && n % groups))
        return op_fail(op, d, "%ld experts in %ld groups", (long)n,
                       (long)groups);
    if (groups && (top < 1 || top > groups || top * (n / groups) < k))
        return op_fail(op, d, "%ld of %ld groups hold no %ld experts",
                       (long)top, (long)groups, (long)k);
    if (strcmp(score, "top2") != 0 && strcmp(score, "max") != 0)
        return op_fail(op, d, "no group score is called %s", score);
    op->type = *in;
    op->type.dtype = DT_i32;
    op->type.dim[in->rank - 1] = k;
    return true;
}

static void rule_route(const Op *op, Rule *r)
{
    const Type *in = &op->operand[0]->type;
    *r = (Rule){0};
    for (int i = 0; i < in->rank; i++) {
        bool last = i == in->rank - 1;
        int f = rule_add(r, in->dim[i], last ? FACTOR_WHOLE : FACTOR_PASS);
        rule_set(r, 0, i, f);
        rule_set(r, 1, i,
                 last ? rule_add(r, op->type.dim[i], FACTOR_WHOLE) : f);
    }
}

// The index of the largest entry, the lower one of equals. A NaN counts as
// larger than any number.
static int64_t find_best(const double *x, int64_t n)
{
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
        if (x[i] > x[best] || (isnan(x[i]) && !isnan(x[best])))
            best = i;
    return best;
}

static double group_value(const double *x, int64_t n, bool is_top2)
{
    int64_t best = find_best(x, n);
    if (!is_top2 || n == 1)
        return x[best];
    double second = -INFINITY;
    for (int64_t i = 0; i < n; i++)
        if (i != best && x[i] > second)
            second = x[i];
    return (float)(x[best] + second);
}

// Takes experts of all but the best groups out of x.
static void close_groups(const Op *op, double *x, int64_t n)
{
    int64_t groups = op_int(op, A_groups, 0), size = n / groups;
    bool is_top2 = strcmp(op_str(op, A_group_score), "top2") == 0;
    double value[MAX_EXPERTS];
    bool is_open[MAX_EXPERTS] = {false};
    for (int64_t g = 0; g < groups; g++)
        value[g] = group_value(x + g * size, size, is_top2);
    for (int64_t i = 0; i < op_int(op, A_top_groups, 0); i++) {
        int64_t g = find_best(value, groups);
        is_open[g] = true;
        value[g] = -INFINITY;
    }
    for (int64_t i = 0; i < n; i++)
        if (!is_open[i / size])
            x[i] = -INFINITY;
}

static void eval_route(const Func *f, const Op *op, int64_t at,
                       const double *const in[], double *out)
{
    (void)f, (void)at;
    const Type *type = &op->operand[0]->type;
    int64_t n = type->dim[type->rank - 1], k = op_int(op, A_k, 0);
    double x[MAX_EXPERTS];
    bool taken[MAX_EXPERTS];
    for (int64_t row = 0; row < type_count(type) / n; row++) {
        memcpy(x, in[0] + row * n, sizeof *x * (size_t)n);
        memset(taken, 0, sizeof taken);
        if (op_int(op, A_groups, 0))
            close_groups(op, x, n);
        for (int64_t i = 0; i < k; i++) {
            int64_t best = -1;
            for (int64_t j = 0; j < n; j++)
                if (!taken[j] && (best < 0 || x[j] > x[best] ||
                                  (isnan(x[j]) && !isnan(x[best]))))
                    best = j;
            taken[best] = true;
            out[row * k + i] = (double)best;
        }
    }
}

const OpInfo op_route = {
    .name = "route",
    .noperand = 1,
    .attrs = {A_k, A_groups, A_top_groups, A_group_score, A_END},
    .infer = infer_route,
    .rule = rule_route,
    .eval = eval_route,
};
