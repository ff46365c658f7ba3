// Gather: for each id, a row of the table or, if it is on another device,
// zeros.
#include "emit/kernel.h"

enum {
    OUT,
    TABLE,
    IDS,
    FIRST, // the place of the table's first row in the whole
};

static int row_dims(const KernelCode *c)
{
    return c->kernel->op->operand[TABLE - 1]->type.rank -
           (int)op_int(c->kernel->op, A_batch, 0) - 1;
}

static void copy_row(const KernelCode *c, int i, LLVMValueRef from,
                     LLVMValueRef to);

// from NULL: zeros.
static void copy_run(const KernelCode *c, int i, LLVMValueRef from,
                     LLVMValueRef to, int64_t first, int64_t last, int lanes)
{
    Loop l;
    Gen *g = c->g;
    const Op *op = c->kernel->op;
    int table_dim = (int)op_int(op, A_batch, 0) + 1 + i;
    int out_dim = op->type.rank - row_dims(c) + i;
    if (first >= last)
        return;
    loop_count(g, &l, first, last, lanes);
    if (from)
        from = access_along(c, TABLE, from, table_dim, l.i);
    to = access_along(c, OUT, to, out_dim, l.i);
    if (lanes == 1)
        copy_row(c, i + 1, from, to);
    else
        gen_store_as(
            g, op->type.dtype,
            from ? gen_load_as(g, op->type.dtype, from, lanes)
                 : LLVMConstNull(gen_compute_type(g, op->type.dtype, lanes)),
            to, lanes);
    loop_end(g, &l, NULL);
}

// Dimensions i.. of a row.
static void copy_row(const KernelCode *c, int i, LLVMValueRef from,
                     LLVMValueRef to)
{
    Gen *g = c->g;
    const Op *op = c->kernel->op;
    DType t = op->type.dtype;
    int n = row_dims(c);
    if (i == n) {
        gen_store_as(g, t,
                     from ? gen_load_as(g, t, from, 1)
                          : LLVMConstNull(gen_compute_type(g, t, 1)),
                     to, 1);
        return;
    }
    int table_dim = (int)op_int(op, A_batch, 0) + 1 + i;
    int64_t size = op->type.dim[op->type.rank - n + i];
    bool is_dense = i == n - 1 && access_stride(c, TABLE, table_dim) == 1;
    int64_t whole = is_dense ? size / g->lanes * g->lanes : 0;
    copy_run(c, i, from, to, 0, whole, g->lanes);
    copy_run(c, i, from, to, whole, size, 1);
}

static LLVMValueRef clamp_id(const Gen *g, LLVMValueRef id, int64_t size)
{
    LLVMValueRef zero = gen_i64(g, 0);
    LLVMValueRef negative = LLVMBuildICmp(g->b, LLVMIntSLT, id, zero, "");
    id = LLVMBuildSelect(g->b, negative, zero, id, "");
    return gen_min(g, id, gen_i64(g, size - 1));
}

static void gather_row(const KernelCode *c, LLVMValueRef table,
                       LLVMValueRef ids, LLVMValueRef out)
{
    Gen *g = c->g;
    Branch b;
    const Op *op = c->kernel->op;
    int batch = (int)op_int(op, A_batch, 0);
    int64_t n = op->operand[TABLE - 1]->type.dim[batch];
    LLVMValueRef id =
        LLVMBuildSExt(g->b, gen_load(g, g->i32, ids, 4), g->i64, "");
    id = clamp_id(g, id, op_int(op, A_size, n));
    id = gen_sub(g, id, c->access[FIRST]);
    LLVMValueRef here = LLVMBuildICmp(g->b, LLVMIntULT, id, gen_i64(g, n), "");
    branch_if(g, &b, here);
    copy_row(c, 0, access_along(c, TABLE, table, batch, id), out);
    branch_else(g, &b);
    copy_row(c, 0, NULL, out);
    branch_end(g, &b);
}

static void walk_ids(const KernelCode *c, int dim, LLVMValueRef table,
                     LLVMValueRef ids, LLVMValueRef out)
{
    Loop l;
    const Type *type = &c->kernel->op->operand[IDS - 1]->type;
    if (dim == type->rank) {
        gather_row(c, table, ids, out);
        return;
    }
    loop_count(c->g, &l, 0, type->dim[dim], 1);
    if (dim < op_int(c->kernel->op, A_batch, 0))
        table = access_along(c, TABLE, table, dim, l.i);
    walk_ids(c, dim + 1, table, access_along(c, IDS, ids, dim, l.i),
             access_along(c, OUT, out, dim, l.i));
    loop_end(c->g, &l, NULL);
}

void emit_gather(KernelCode *c)
{
    walk_ids(c, 0, c->access[TABLE], c->access[IDS], c->access[OUT]);
}
