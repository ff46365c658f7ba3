// gather: rows of a table by number; scatter_add: its transpose.
//
//   gather       table [B.., n, R..], ids [B.., I..] -> [B.., I.., R..]
//   scatter_add  rows [B.., I.., R..], ids [B.., I..] -> table [B.., n, R..]
//
// A table split by rows (LOCAL: `offset`, `size`) gives zero for rows that are
// elsewhere, so that the sum over the devices is the row; a table that is
// added to leaves them out. Rows of a bf16 table are added up in f32.
#include <string.h>

#include "op/util.h"

static bool infer_gather(const Func *f, Op *op, Diag *d)
{
    (void)f;
    const Type *table = &op->operand[0]->type, *ids = &op->operand[1]->type;
    int64_t batch = op_int(op, A_batch, 0);
    if (ids->dtype != DT_i32)
        return op_fail(op, d, "ids must be i32");
    if (batch < 0 || batch > ids->rank || batch >= table->rank)
        return op_fail(op, d, "batch=%ld", (long)batch);
    if (table->rank - 1 + ids->rank - batch > MAX_RANK)
        return op_fail(op, d, "the result's rank is over %d", MAX_RANK);
    for (int i = 0; i < batch; i++)
        if (table->dim[i] != ids->dim[i])
            return op_fail(op, d, "dimension %d is %ld and %ld", i,
                           (long)table->dim[i], (long)ids->dim[i]);
    op->type = *ids;
    op->type.dtype = table->dtype;
    for (int i = (int)batch + 1; i < table->rank; i++)
        op->type.dim[op->type.rank++] = table->dim[i];
    return true;
}

static void rule_gather(const Op *op, Rule *r)
{
    const Type *table = &op->operand[0]->type, *ids = &op->operand[1]->type;
    int batch = (int)op_int(op, A_batch, 0);
    *r = (Rule){0};
    for (int i = 0; i < op->type.rank; i++) {
        int f = rule_add(r, op->type.dim[i], FACTOR_PASS);
        rule_set(r, 2, i, f);
        if (i < ids->rank)
            rule_set(r, 1, i, f);
        if (i < batch)
            rule_set(r, 0, i, f);
        if (i >= ids->rank)
            rule_set(r, 0, i - ids->rank + batch + 1, f);
    }
    rule_set(r, 0, batch, rule_add(r, table->dim[batch], FACTOR_LOOKUP));
}

static int64_t product(const int64_t dim[], int from, int to)
{
    int64_t n = 1;
    for (int i = from; i < to; i++)
        n *= dim[i];
    return n;
}

static void eval_gather(const Func *f, const Op *op, int64_t at,
                        const double *const in[], double *out)
{
    const Type *table = &op->operand[0]->type, *ids = &op->operand[1]->type;
    int batch = (int)op_int(op, A_batch, 0);
    int64_t n = table->dim[batch];
    int64_t row = product(table->dim, batch + 1, table->rank);
    int64_t each = product(ids->dim, batch, ids->rank);
    int64_t size = op_int(op, A_size, n);
    int64_t start = op_offset(f, op, at, n);
    for (int64_t i = 0; i < type_count(ids); i++) {
        double id = in[1][i];
        int64_t k = (int64_t)(id < 0                    ? 0
                              : id > (double)(size - 1) ? (double)(size - 1)
                                                        : id);
        k -= start;
        if (k < 0 || k >= n)
            memset(out + i * row, 0, sizeof *out * (size_t)row);
        else
            memcpy(out + i * row, in[0] + (i / each * n + k) * row,
                   sizeof *out * (size_t)row);
    }
}

static void grad_gather(Func *f, const Op *op, Op *ct, Op *out[])
{
    Op *table = func_add(f, OP_scatter_add, 2, (Op *[]){ct, op->operand[1]});
    table->type = op->operand[0]->type;
    op_set_int(f, table, A_batch, op_int(op, A_batch, 0));
    out[0] = table;
}

const OpInfo op_gather = {
    .name = "gather",
    .noperand = 2,
    .attrs = {A_batch, A_END},
    .infer = infer_gather,
    .grad = grad_gather,
    .rule = rule_gather,
    .eval = eval_gather,
};

// The table's size is given, with the op's type.
static bool infer_scatter(const Func *f, Op *op, Diag *d)
{
    (void)f;
    const Type *rows = &op->operand[0]->type, *ids = &op->operand[1]->type;
    int64_t batch = op_int(op, A_batch, 0);
    if (ids->dtype != DT_i32)
        return op_fail(op, d, "ids must be i32");
    if (!dtype_is_float(rows->dtype))
        return op_fail(op, d, "wants a float type");
    if (batch < 0 || batch > ids->rank || ids->rank > rows->rank)
        return op_fail(op, d, "batch=%ld", (long)batch);
    for (int i = 0; i < ids->rank; i++)
        if (rows->dim[i] != ids->dim[i])
            return op_fail(op, d, "dimension %d is %ld and %ld", i,
                           (long)rows->dim[i], (long)ids->dim[i]);
    int rank = rows->rank - ids->rank + (int)batch + 1;
    bool fits = op->type.rank == rank && op->type.dtype == rows->dtype;
    for (int i = 0; i < rank && fits; i++) {
        int from = i < batch ? i : i - (int)batch - 1 + ids->rank;
        fits = i == batch || op->type.dim[i] == rows->dim[from];
    }
    return fits || op_fail(op, d, "the result is no table of these rows");
}

static void rule_scatter(const Op *op, Rule *r)
{
    const Type *rows = &op->operand[0]->type, *ids = &op->operand[1]->type;
    int batch = (int)op_int(op, A_batch, 0);
    *r = (Rule){0};
    for (int i = 0; i < rows->rank; i++) {
        bool sums = i >= batch && i < ids->rank;
        int f = rule_add(r, rows->dim[i], sums ? FACTOR_REDUCE : FACTOR_PASS);
        rule_set(r, 0, i, f);
        if (i < ids->rank)
            rule_set(r, 1, i, f);
        if (!sums)
            rule_set(r, 2, i < batch ? i : i - ids->rank + batch + 1, f);
    }
    rule_set(r, 2, batch, rule_add(r, op->type.dim[batch], FACTOR_POSITION));
}

static void eval_scatter(const Func *f, const Op *op, int64_t at,
                         const double *const in[], double *out)
{
    const Type *ids = &op->operand[1]->type;
    int batch = (int)op_int(op, A_batch, 0);
    int64_t n = op->type.dim[batch], whole = op_int(op, A_size, n);
    int64_t row = product(op->type.dim, batch + 1, op->type.rank);
    int64_t each = product(ids->dim, batch, ids->rank);
    int64_t start = op_offset(f, op, at, n);
    memset(out, 0, sizeof *out * (size_t)type_count(&op->type));
    for (int64_t i = 0; i < type_count(ids); i++) {
        double id = in[1][i];
        int64_t k = (int64_t)(id < 0                     ? 0
                              : id > (double)(whole - 1) ? (double)(whole - 1)
                                                         : id);
        k -= start;
        for (int64_t j = 0; j < row && k >= 0 && k < n; j++)
            out[(i / each * n + k) * row + j] += in[0][i * row + j];
    }
}

static void grad_scatter(Func *f, const Op *op, Op *ct, Op *out[])
{
    out[0] = func_add(f, OP_gather, 2, (Op *[]){ct, op->operand[1]});
    out[0]->type = op->operand[0]->type;
    op_set_int(f, out[0], A_batch, op_int(op, A_batch, 0));
}

const OpInfo op_scatter_add = {
    .name = "scatter_add",
    .noperand = 2,
    .attrs = {A_batch, A_END},
    .infer = infer_scatter,
    .grad = grad_scatter,
    .rule = rule_scatter,
    .eval = eval_scatter,
};
