// SHARDED to LOCAL: every op with the shapes of one device.
//
// Computing ops are copied: operands that are split alike are computed piece
// by piece. What depends on the device's place gets `offset`, a closed form of
// its coordinates, so that all devices run one program and nothing here grows
// with their number. Padding at the end of a dimension that does not divide is
// masked where a reduction would read it. Collectives work on plain blocks:
// a split with gaps is seen through a reshape, padding is put on before and
// cut off after.
#include <math.h>

#include "ir/factor.h"
#include "pass/partition.h"

typedef struct Masked {
    const Op *value; // local
    int dim;
    double fill;
    Op *op;
} Masked;

typedef struct Lower {
    PassContext *c;
    const Mesh *mesh;
    Func *out;
    Op **to;            // id in the SHARDED function -> local op
    VEC(unsigned) zero; // by local id: dimensions whose padding is zero
    VEC(Masked) masked;
} Lower;

// --- padding -----------------------------------------------------------------

static bool is_zero_padded(const Lower *x, const Op *local, int dim)
{
    return local->id < x->zero.n && (x->zero.at[local->id] >> dim & 1);
}

static void set_zero_padded(Lower *x, const Op *local, unsigned dims)
{
    while (x->zero.n <= local->id)
        vec_push(x->c->arena, &x->zero, 0);
    x->zero.at[local->id] = dims;
}

static bool is_padded(const Lower *x, const Op *value, int dim)
{
    const Split *s = &value->sharding.dim[dim];
    return split_padded(x->mesh, s, value->type.dim[dim]) !=
           value->type.dim[dim];
}

static double identity_of(Combiner c)
{
    return c == COMBINE_sum ? 0 : c == COMBINE_max ? -INFINITY : INFINITY;
}

// The local value with its padding along `dim` set to `fill`; made once.
static Op *mask_value(Lower *x, const Op *value, Op *local, int dim,
                      double fill)
{
    if (fill == 0 && is_zero_padded(x, local, dim))
        return local;
    for (int i = 0; i < x->masked.n; i++) {
        const Masked *m = &x->masked.at[i];
        if (m->value == local && m->dim == dim && m->fill == fill)
            return m->op;
    }
    Op *op = func_add(x->out, OP_mask, 1, &local);
    op->type = local->type;
    op->at = value->at;
    op->place = value->place;
    op_set_int(x->out, op, A_dim, dim);
    op_set_int(x->out, op, A_size, value->type.dim[dim]);
    op_set_split(x->out, op, A_offset, &value->sharding.dim[dim]);
    op_set_floats(x->out, op, A_value, 1, &fill);
    vec_push(x->c->arena, &x->masked, ((Masked){local, dim, fill, op}));
    return op;
}

// Masks the padding of every dimension that the op reduces over.
static Op *mask_operand(Lower *x, const Op *op, const Rule *r, int t)
{
    const Op *value = op->operand[t];
    Op *local = x->to[value->id];
    for (int i = 0; i < value->type.rank; i++) {
        const DimFactors *df = &r->dim[t][i];
        if (df->n == 1 && r->kind[df->factor[0]] == FACTOR_REDUCE &&
            is_padded(x, value, i))
            local = mask_value(x, value, local, i, identity_of(r->combiner));
    }
    return local;
}

// --- computing ops -----------------------------------------------------------

// What the op must know of its place: how its positional factor is split.
static void set_offset(Lower *x, const Op *op, const Rule *r, Op *local)
{
    Split split[MAX_FACTORS] = {0};
    for (int t = 0; t <= op->noperand; t++) {
        const Op *v = t < op->noperand ? op->operand[t] : op;
        Split of[MAX_FACTORS] = {0};
        factors_from_sharding(x->mesh, r, t, v->type.rank, &v->sharding, of);
        for (int f = 0; f < r->nfactor; f++)
            if (of[f].n)
                split[f] = of[f];
    }
    for (int f = 0; f < r->nfactor; f++) {
        if (!split[f].n ||
            (r->kind[f] != FACTOR_POSITION && r->kind[f] != FACTOR_LOOKUP))
            continue;
        op_set_split(x->out, local, A_offset, &split[f]);
        op_set_int(x->out, local, A_size, r->size[f]);
    }
}

static Op *lower_compute(Lower *x, const Op *op)
{
    Rule r = {0};
    const OpInfo *info = op_info[op->code];
    Op **operand = arena_new(x->c->arena, Op *, (size_t)op->noperand);
    if (info->rule)
        info->rule(op, &r);
    for (int t = 0; t < op->noperand; t++)
        operand[t] =
            info->rule ? mask_operand(x, op, &r, t) : x->to[op->operand[t]->id];
    Op *local = func_copy_op(x->out, op, operand);
    local->type = type_local(x->mesh, &op->type, &op->sharding);
    local->sharding = (Sharding){0};
    if (info->rule)
        set_offset(x, op, &r, local);
    if (info->localize)
        info->localize(x->out, local);
    if (op_role(op) == ROLE_argument)
        set_zero_padded(x, local, ~0u);
    return local;
}

// --- collectives -------------------------------------------------------------

static Op *add_like(Lower *x, OpCode code, Op *value, const Op *op)
{
    Op *add = func_add(x->out, code, 1, &value);
    add->type = value->type;
    add->at = op->at;
    add->place = op->place;
    return add;
}

static Op *pad_to(Lower *x, Op *value, int dim, int64_t size, const Op *op)
{
    int64_t high = size - value->type.dim[dim];
    if (high == 0)
        return value;
    Op *pad = add_like(x, OP_pad, value, op);
    pad->type.dim[dim] = size;
    op_set_int(x->out, pad, A_dim, dim);
    op_set_int(x->out, pad, A_high, high);
    return pad;
}

static Op *cut_to(Lower *x, Op *value, int dim, int64_t size, const Op *op)
{
    if (value->type.dim[dim] == size)
        return value;
    int64_t lo[MAX_RANK] = {0}, hi[MAX_RANK];
    Op *cut = add_like(x, OP_slice, value, op);
    cut->type.dim[dim] = size;
    for (int i = 0; i < cut->type.rank; i++)
        hi[i] = cut->type.dim[i];
    op_set_ints(x->out, cut, A_starts, cut->type.rank, lo);
    op_set_ints(x->out, cut, A_limits, cut->type.rank, hi);
    return cut;
}

// The whole factors in front of a split's item k: the block it works in.
static int64_t gaps_before(const Split *s, int k)
{
    int64_t n = 1;
    for (int i = 0; i < k; i++)
        if (s->item[i] < 0)
            n *= -s->item[i];
    return n;
}

static int find_item(const Split *s, int32_t item)
{
    int k = 0;
    while (k < s->n && s->item[k] != item)
        k++;
    return k;
}

// How a collective sees the local tensor: each of the two dimensions it works
// on may be cut in [blocks, rest].
typedef struct View {
    int64_t blocks[MAX_RANK]; // 1: not cut
} View;

static Op *reshape_to(Lower *x, Op *value, const Type *type, const Op *op)
{
    if (type_equal(&value->type, type))
        return value;
    Op *r = add_like(x, OP_reshape, value, op);
    r->type = *type;
    return r;
}

static Op *cut_view(Lower *x, Op *value, const View *v, const Op *op)
{
    Type t = {.dtype = value->type.dtype};
    for (int i = 0; i < value->type.rank; i++) {
        if (v->blocks[i] > 1)
            t.dim[t.rank++] = v->blocks[i];
        t.dim[t.rank++] = value->type.dim[i] / v->blocks[i];
    }
    return reshape_to(x, value, &t, op);
}

static Op *join_view(Lower *x, Op *value, const View *v, int rank, const Op *op)
{
    Type t = {.dtype = value->type.dtype, .rank = rank};
    for (int i = 0, k = 0; i < rank; i++) {
        int64_t blocks = v->blocks[i] > 1 ? value->type.dim[k++] : 1;
        t.dim[i] = blocks * value->type.dim[k++];
    }
    return reshape_to(x, value, &t, op);
}

// Where dimension `dim` stands once the view is cut.
static int view_dim(const View *v, int dim)
{
    int at = dim;
    for (int i = 0; i <= dim; i++)
        at += v->blocks[i] > 1;
    return at;
}

// The collective itself on plain blocks; attributes of op, dims of the view.
static Op *add_collective(Lower *x, Op *value, const View *v, const Op *op)
{
    const Attr *split = op_attr(op, A_split_dim);
    const Attr *concat = op_attr(op, A_concat_dim);
    const Attr *axes = op_attr(op, A_axes);
    Op *local = func_copy_op(x->out, op, &value);
    local->name = NULL;
    local->type = value->type;
    local->sharding = (Sharding){0};
    Split plain = {0}; // the axes without a leading gap: the view has it
    for (int i = 0; axes && i < axes->split->n; i++)
        if (axes->split->item[i] >= 0)
            split_push(&plain, axes->split->item[i]);
    int64_t n = axes ? split_pieces(x->mesh, &plain) : 1;
    if (axes)
        op_set_split(x->out, local, A_axes, &plain);
    if (split) {
        int dim = view_dim(v, (int)split->ints[0]);
        op_set_int(x->out, local, A_split_dim, dim);
        local->type.dim[dim] /= n;
    }
    if (concat) {
        int dim = view_dim(v, (int)concat->ints[0]);
        op_set_int(x->out, local, A_concat_dim, dim);
        local->type.dim[dim] *= n;
    }
    return local;
}

static View find_view(const Op *op)
{
    View v;
    const Op *in = op->operand[0];
    const Attr *split = op_attr(op, A_split_dim);
    const Attr *concat = op_attr(op, A_concat_dim);
    for (int i = 0; i < MAX_RANK; i++)
        v.blocks[i] = 1;
    if (split) {
        const Split *s = &op->sharding.dim[split->ints[0]];
        v.blocks[split->ints[0]] = gaps_before(s, s->n);
    }
    if (concat) {
        const Split *s = &in->sharding.dim[concat->ints[0]];
        int k = find_item(s, op_attr(op, A_axes)->split->item[0]);
        v.blocks[concat->ints[0]] = gaps_before(s, k);
    }
    return v;
}

// Padding that stays zero: what was and, where padding was put on, that.
static unsigned zero_after(const Lower *x, const Op *op, const Op *before)
{
    const Attr *split = op_attr(op, A_split_dim);
    unsigned zero = 0;
    for (int i = 0; i < op->type.rank; i++)
        if (is_zero_padded(x, before, i) ||
            (split && split->ints[0] == i &&
             !op->operand[0]->sharding.dim[i].n))
            zero |= 1u << i;
    return zero;
}

static Op *lower_collective(Lower *x, const Op *op)
{
    Op *before = x->to[op->operand[0]->id];
    const Attr *split = op_attr(op, A_split_dim);
    const Attr *concat = op_attr(op, A_concat_dim);
    View v = find_view(op);
    Op *value = before;
    if (split) {
        int dim = (int)split->ints[0];
        int64_t pieces =
            split_pieces(x->mesh, &op->operand[0]->sharding.dim[dim]);
        int64_t padded =
            split_padded(x->mesh, &op->sharding.dim[dim], op->type.dim[dim]);
        value = pad_to(x, value, dim, padded / pieces, op);
    }
    value = cut_view(x, value, &v, op);
    value = add_collective(x, value, &v, op);
    value = join_view(x, value, &v, op->type.rank, op);
    if (concat) {
        int dim = (int)concat->ints[0];
        value = cut_to(
            x, value, dim,
            split_local(x->mesh, &op->sharding.dim[dim], op->type.dim[dim]),
            op);
    }
    value->name = op->name;
    set_zero_padded(x, value, zero_after(x, op, before));
    return value;
}

static void lower_func(PassContext *c, Module *m, const Func *f)
{
    Lower x = {.c = c,
               .mesh = &m->mesh,
               .out = func_new(m, f->name),
               .to = arena_new(c->arena, Op *, (size_t)f->ops.n)};
    for_each_op (op, f)
        x.to[op->id] = op_role(op) == ROLE_collective ? lower_collective(&x, op)
                                                      : lower_compute(&x, op);
    func_map_results(x.out, f, x.to);
}

// A result or a loop's carried value must not be pending; a cut view must fit.
static bool check_sharded(PassContext *c, const Module *m)
{
    int errors = c->diag->nerror;
    if (m->form != FORM_sharded)
        diag_error(c->diag, (Span){0}, "partition wants form sharded, not %s",
                   form_name[m->form]);
    for (int i = 0; i < m->funcs.n && m->form == FORM_sharded; i++) {
        const Func *f = m->funcs.at[i];
        for_each_op (op, f) {
            if (op_role(op) == ROLE_reshard)
                diag_error(c->diag, op->at,
                           "a reshard is left: run pass "
                           "reshard first");
            if (op_role(op) == ROLE_collective && op->type.rank > MAX_RANK - 2)
                diag_error(c->diag, op->at,
                           "a collective on more than %d dimensions",
                           MAX_RANK - 2);
        }
    }
    return c->diag->nerror == errors;
}

Module *pass_partition(PassContext *c, Module *m)
{
    if (!check_sharded(c, m))
        return NULL;
    Module *out = module_new(c->arena, &m->mesh, FORM_local);
    out->next_id = m->next_id;
    for (int i = 0; i < m->funcs.n; i++)
        lower_func(c, out, m->funcs.at[i]);
    return out;
}
