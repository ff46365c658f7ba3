#include "emit/lower.h"

#include "emit/attention.h"

static void view_transpose(const Mesh *m, const Op *op, View *v)
{
    (void)m;
    const Attr *dims = op_attr(op, A_dims);
    int64_t stride[MAX_RANK];
    row_major(&op->operand[0]->type, stride);
    for (int i = 0; i < op->type.rank; i++)
        view_add_loop(v, op->type.dim[i], stride[dims->ints[i]]);
}

static void view_broadcast(const Mesh *m, const Op *op, View *v)
{
    (void)m;
    const Attr *dims = op_attr(op, A_dims);
    int64_t stride[MAX_RANK], spread[MAX_RANK] = {0};
    row_major(&op->operand[0]->type, stride);
    for (int i = 0; i < op->operand[0]->type.rank; i++)
        spread[dims->ints[i]] = stride[i];
    for (int i = 0; i < op->type.rank; i++)
        view_add_loop(v, op->type.dim[i], spread[i]);
}

static void view_reshape(const Mesh *m, const Op *op, View *v)
{
    (void)m;
    *v = view_identity(&op->type);
}

static void view_slice(const Mesh *m, const Op *op, View *v)
{
    (void)m;
    const Attr *starts = op_attr(op, A_starts);
    int64_t stride[MAX_RANK];
    row_major(&op->operand[0]->type, stride);
    for (int i = 0; i < op->type.rank; i++) {
        view_add_loop(v, op->type.dim[i], stride[i]);
        v->at += starts->ints[i] * stride[i];
    }
}

static void view_shard_slice(const Mesh *m, const Op *op, View *v)
{
    int dim = (int)op_int(op, A_split_dim, 0);
    int64_t stride[MAX_RANK];
    row_major(&op->operand[0]->type, stride);
    for (int i = 0; i < op->type.rank; i++)
        view_add_loop(v, op->type.dim[i], stride[i]);
    view_add_piece(v, m, op_attr(op, A_axes)->split,
                   op->type.dim[dim] * stride[dim]);
}

static int64_t table_rows(const Op *op)
{
    return op->operand[0]->type.dim[op_int(op, A_batch, 0)];
}

static int64_t result_rows(const Op *op)
{
    return op->type.dim[op_int(op, A_batch, 0)];
}

static int64_t queries(const Op *op)
{
    return op->operand[0]->type.dim[1];
}

// Sums of bf16 addends, in f32.
static int64_t scatter_sums(const Op *op)
{
    return op->type.dtype == DT_bf16 ? 4 * type_count(&op->type) : 0;
}

const OpLowering op_lowering[NOP] = {
    [OP_param] = {.how = LOWER_param},
    [OP_constant] = {.how = LOWER_leaf},
    [OP_iota] = {.how = LOWER_leaf},
    [OP_neg] = {.how = LOWER_point},
    [OP_abs] = {.how = LOWER_point},
    [OP_exp] = {.how = LOWER_point},
    [OP_log] = {.how = LOWER_point},
    [OP_sqrt] = {.how = LOWER_point},
    [OP_rsqrt] = {.how = LOWER_point},
    [OP_sin] = {.how = LOWER_point},
    [OP_cos] = {.how = LOWER_point},
    [OP_tanh] = {.how = LOWER_point},
    [OP_logistic] = {.how = LOWER_point},
    [OP_floor] = {.how = LOWER_point},
    [OP_ceil] = {.how = LOWER_point},
    [OP_not] = {.how = LOWER_point},
    [OP_convert] = {.how = LOWER_point, .is_free = true},
    [OP_stop_gradient] = {.how = LOWER_view, .view = view_reshape},
    [OP_add] = {.how = LOWER_point},
    [OP_subtract] = {.how = LOWER_point},
    [OP_multiply] = {.how = LOWER_point},
    [OP_divide] = {.how = LOWER_point},
    [OP_power] = {.how = LOWER_point},
    [OP_maximum] = {.how = LOWER_point},
    [OP_minimum] = {.how = LOWER_point},
    [OP_and] = {.how = LOWER_point},
    [OP_or] = {.how = LOWER_point},
    [OP_compare] = {.how = LOWER_point},
    [OP_select] = {.how = LOWER_point},
    [OP_mask] = {.how = LOWER_point, .takes_index = true},
    [OP_einsum] = {.how = LOWER_product},
    [OP_reduce_sum] = {.how = LOWER_reduce},
    [OP_reduce_max] = {.how = LOWER_reduce},
    [OP_reduce_min] = {.how = LOWER_reduce},
    [OP_cumsum] = {.how = LOWER_kernel},
    [OP_broadcast] = {.how = LOWER_view, .view = view_broadcast},
    [OP_transpose] = {.how = LOWER_view, .view = view_transpose},
    [OP_reshape] = {.how = LOWER_view, .view = view_reshape},
    [OP_slice] = {.how = LOWER_view, .view = view_slice},
    [OP_pad] = {.how = LOWER_parts},
    [OP_concat] = {.how = LOWER_parts},
    [OP_gather] = {.how = LOWER_kernel, .placed = table_rows},
    [OP_scatter_add] = {.how = LOWER_kernel,
                        .scratch = scatter_sums,
                        .placed = result_rows},
    [OP_attention] = {.how = LOWER_kernel,
                      .scratch = attention_scratch,
                      .placed = queries},
    [OP_route] = {.how = LOWER_kernel},
    [OP_scan] = {.how = LOWER_loop},
    [OP_result] = {.how = LOWER_result},
    [OP_shard_slice] = {.how = LOWER_view, .view = view_shard_slice},
    [OP_all_gather] = {.how = LOWER_collective, .collective = RT_ALL_GATHER},
    [OP_reduce_scatter] = {.how = LOWER_collective,
                           .collective = RT_REDUCE_SCATTER},
    [OP_all_reduce] = {.how = LOWER_collective, .collective = RT_ALL_REDUCE},
    [OP_all_to_all] = {.how = LOWER_collective, .collective = RT_ALL_TO_ALL},
    [OP_collective_permute] = {.how = LOWER_collective,
                               .collective = RT_COLLECTIVE_PERMUTE},
};

Lowering op_lower(const Op *op)
{
    const Attr *value = op_attr(op, A_value);
    Lowering how = op_lowering[op->code].how;
    if (how == LOWER_leaf && value && value->n != 1)
        return LOWER_param;
    bool is_float = dtype_is_float(op->type.dtype);
    if (how == LOWER_product && (!is_float || op_is_thin(op)))
        return LOWER_reduce;
    return how;
}

View op_index_view(const Mesh *m, const Op *op)
{
    View v = {0};
    int dim = (int)op_int(op, A_dim, 0);
    const Attr *offset = op_attr(op, A_offset);
    for (int i = 0; i < op->type.rank; i++)
        view_add_loop(&v, op->type.dim[i], i == dim);
    if (offset && offset->split->n)
        view_add_piece(&v, m, offset->split, op->type.dim[dim]);
    return v;
}

View op_part_view(const Op *op, int i)
{
    View v = {0};
    int dim = (int)op_int(op, A_dim, 0);
    const Type *part = &op->operand[i]->type;
    int64_t stride[MAX_RANK];
    row_major(&op->type, stride);
    for (int k = 0; k < part->rank; k++)
        view_add_loop(&v, part->dim[k], stride[k]);
    v.at = op_int(op, A_low, 0) * stride[dim];
    for (int k = 0; k < i; k++)
        v.at += op->operand[k]->type.dim[dim] * stride[dim];
    return v;
}
