// scatter_add: rows added into a table, in order. A table of bf16 is summed in
// f32 and rounded once.
#include "emit/kernel.h"

enum {
    OUT,
    ROWS,
    IDS,
    FIRST, // the place of the table's first row in the whole
};

typedef struct Scatter {
    const KernelCode *c;
    LLVMValueRef table;       // f32, dense
    int64_t stride[MAX_RANK]; // of the table, in bytes
    int batch, nid;
} Scatter;

static LLVMValueRef table_along(const Scatter *s, LLVMValueRef p, int dim,
                                LLVMValueRef i)
{
    return gen_address(s->c->g, p, gen_scale(s->c->g, i, s->stride[dim]));
}

// Rounds the sums into the result or, at the start, makes the sums zero.
static void pass_over(const Scatter *s, bool rounds, int64_t from, int64_t to,
                      int lanes)
{
    Loop l;
    Gen *g = s->c->g;
    DType t = s->c->kernel->op->type.dtype;
    if (from >= to)
        return;
    loop_count(g, &l, from, to, lanes);
    LLVMValueRef sum = gen_address(g, s->table, gen_scale(g, l.i, 4));
    if (rounds) {
        LLVMValueRef x = gen_load_as(g, DT_f32, sum, lanes);
        LLVMValueRef out = gen_address(g, s->c->access[OUT],
                                       gen_scale(g, l.i, dtype_bytes[t]));
        gen_store_as(g, t, gen_round_bf16(g, x, lanes), out, lanes);
    } else {
        gen_store_as(g, DT_f32,
                     LLVMConstNull(gen_compute_type(g, DT_f32, lanes)), sum,
                     lanes);
    }
    loop_end(g, &l, NULL);
}

static void pass_over_all(const Scatter *s, bool rounds)
{
    int lanes = s->c->g->lanes;
    int64_t n = type_count(&s->c->kernel->op->type), whole = n / lanes * lanes;
    pass_over(s, rounds, 0, whole, lanes);
    pass_over(s, rounds, whole, n, 1);
}

static void add_row(const Scatter *s, int dim, LLVMValueRef row,
                    LLVMValueRef to);

static void add_entry(const Scatter *s, LLVMValueRef row, LLVMValueRef to,
                      int lanes)
{
    Gen *g = s->c->g;
    LLVMValueRef x =
        gen_load_as(g, s->c->kernel->access.at[ROWS].dtype, row, lanes);
    LLVMValueRef sum = gen_load_as(g, DT_f32, to, lanes);
    gen_store_as(g, DT_f32, LLVMBuildFAdd(g->b, sum, x, ""), to, lanes);
}

static void add_run(const Scatter *s, int dim, LLVMValueRef row,
                    LLVMValueRef to, int64_t from, int64_t end, int lanes)
{
    Loop l;
    if (from >= end)
        return;
    loop_count(s->c->g, &l, from, end, lanes);
    row = access_along(s->c, ROWS, row, dim - s->batch - 1 + s->nid, l.i);
    to = table_along(s, to, dim, l.i);
    if (lanes > 1)
        add_entry(s, row, to, lanes);
    else
        add_row(s, dim + 1, row, to);
    loop_end(s->c->g, &l, NULL);
}

// Dimensions dim.. of the table.
static void add_row(const Scatter *s, int dim, LLVMValueRef row,
                    LLVMValueRef to)
{
    const Type *table = &s->c->kernel->op->type;
    if (dim == table->rank) {
        add_entry(s, row, to, 1);
        return;
    }
    int row_dim = dim - s->batch - 1 + s->nid;
    bool is_dense =
        dim == table->rank - 1 && access_stride(s->c, ROWS, row_dim) == 1;
    int lanes = s->c->g->lanes;
    int64_t n = table->dim[dim], whole = is_dense ? n / lanes * lanes : 0;
    add_run(s, dim, row, to, 0, whole, lanes);
    add_run(s, dim, row, to, whole, n, 1);
}

static void scatter_row(const Scatter *s, LLVMValueRef row, LLVMValueRef ids,
                        LLVMValueRef table)
{
    Branch b;
    Gen *g = s->c->g;
    const Op *op = s->c->kernel->op;
    int64_t n = op->type.dim[s->batch];
    LLVMValueRef zero = gen_i64(g, 0);
    LLVMValueRef id =
        LLVMBuildSExt(g->b, gen_load(g, g->i32, ids, 4), g->i64, "");
    LLVMValueRef negative = LLVMBuildICmp(g->b, LLVMIntSLT, id, zero, "");
    id = LLVMBuildSelect(g->b, negative, zero, id, "");
    id = gen_min(g, id, gen_i64(g, op_int(op, A_size, n) - 1));
    id = gen_sub(g, id, s->c->access[FIRST]);
    branch_if(g, &b, LLVMBuildICmp(g->b, LLVMIntULT, id, gen_i64(g, n), ""));
    add_row(s, s->batch + 1, row, table_along(s, table, s->batch, id));
    branch_else(g, &b);
    branch_end(g, &b);
}

static void walk_ids(const Scatter *s, int dim, LLVMValueRef row,
                     LLVMValueRef ids, LLVMValueRef table)
{
    Loop l;
    const Type *type = &s->c->kernel->op->operand[IDS - 1]->type;
    if (dim == s->nid) {
        scatter_row(s, row, ids, table);
        return;
    }
    loop_count(s->c->g, &l, 0, type->dim[dim], 1);
    if (dim < s->batch)
        table = table_along(s, table, dim, l.i);
    walk_ids(s, dim + 1, access_along(s->c, ROWS, row, dim, l.i),
             access_along(s->c, IDS, ids, dim, l.i), table);
    loop_end(s->c->g, &l, NULL);
}

void emit_scatter(KernelCode *c)
{
    const Op *op = c->kernel->op;
    bool is_narrow = op->type.dtype == DT_bf16;
    Scatter s = {.c = c,
                 .table = is_narrow ? c->scratch : c->access[OUT],
                 .batch = (int)op_int(op, A_batch, 0),
                 .nid = op->operand[IDS - 1]->type.rank};
    row_major(&op->type, s.stride);
    for (int i = 0; i < op->type.rank; i++)
        s.stride[i] *= 4;
    pass_over_all(&s, false);
    walk_ids(&s, 0, c->access[ROWS], c->access[IDS], s.table);
    if (is_narrow)
        pass_over_all(&s, true);
}
