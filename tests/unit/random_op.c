// A maker for each kind of op: takes values that are there, or makes new ones.
#include <math.h>
#include <string.h>

#include "random.h"

typedef Value *MakeFn(Gen *g);

static bool is_exact(const Value *v)
{
    return v->fraction <= 24;
}

static bool all_above(const Value *v, double least)
{
    for (int64_t i = 0; i < type_count(&v->op->type); i++)
        if (!(v->x[i] > least))
            return false;
    return true;
}

static bool all_below(const Value *v, double most)
{
    for (int64_t i = 0; i < type_count(&v->op->type); i++)
        if (!(v->x[i] < most))
            return false;
    return true;
}

Value *make_unary(Gen *g, OpCode code, Value *a, int fraction)
{
    return keep(g, begin(g, code, 1, &a), fraction);
}

// --- elementwise -------------------------------------------------------------

static Value *make_smooth(Gen *g)
{
    static const OpCode codes[] = {OP_sin, OP_cos, OP_tanh, OP_logistic};
    return make_unary(g, codes[below(g, 4)], pick(g, random_float(g)), INEXACT);
}

// What is not for any number: outside of loops, whose numbers change.
static Value *make_partial(Gen *g)
{
    Value *a = pick(g, random_float(g));
    int which = below(g, 6);
    if (g->is_body || g->rounds)
        return NULL;
    if (which == 0 && all_below(a, 5))
        return make_unary(g, OP_exp, a, INEXACT);
    if (which == 1 && all_above(a, 0.02))
        return make_unary(g, OP_log, a, INEXACT);
    if (which == 2 && all_above(a, 0.02))
        return make_unary(g, OP_sqrt, a, INEXACT);
    if (which == 3 && all_above(a, 0.02))
        return make_unary(g, OP_rsqrt, a, INEXACT);
    if (which >= 4 && is_exact(a))
        return make_unary(g, which == 4 ? OP_floor : OP_ceil, a, 0);
    return NULL;
}

static Value *make_sign(Gen *g)
{
    Value *a = pick(g, chance(g, 85) ? random_float(g) : DT_i32);
    return make_unary(g, chance(g, 60) ? OP_neg : OP_abs, a, a->fraction);
}

static Value *make_binary(Gen *g)
{
    static const OpCode codes[] = {OP_add,      OP_add,     OP_subtract,
                                   OP_multiply, OP_maximum, OP_minimum};
    Value *a = pick(g, chance(g, 85) ? random_float(g) : DT_i32);
    Value *b = pick_like(g, &a->op->type);
    OpCode code = codes[below(g, 6)];
    Value *in[2] = {a, b};
    if (chance(g, 50))
        in[0] = b, in[1] = a;
    bool adds = code == OP_multiply;
    int most = a->fraction > b->fraction ? a->fraction : b->fraction;
    return keep(g, begin(g, code, 2, in),
                adds ? a->fraction + b->fraction : most);
}

static Value *make_divide(Gen *g)
{
    Value *a = pick(g, chance(g, 50) ? random_float(g) : DT_i32);
    Value *b = pick_like(g, &a->op->type);
    bool is_int = a->op->type.dtype == DT_i32;
    if (g->is_body || g->rounds || (!is_int && !all_above(b, 0.02)))
        return NULL;
    bool is_power = !is_int && chance(g, 30);
    if (is_power && !all_below(a, 3))
        return NULL;
    Value *in[2] = {is_power ? b : a, is_power ? a : b};
    return keep(g, begin(g, is_power ? OP_power : OP_divide, 2, in),
                is_int ? 0 : INEXACT);
}

static Value *make_compare(Gen *g)
{
    static const char *const how[] = {"eq", "ne", "lt", "le", "gt", "ge"};
    Value *a = pick(g, NDTYPE), *b = pick_like(g, &a->op->type);
    if (!is_exact(a) || !is_exact(b))
        return NULL;
    Op *op = begin(g, OP_compare, 2, (Value *[]){a, b});
    op_set_str(g->ops, op, A_dir, how[below(g, 6)]);
    return keep(g, op, 0);
}

static Value *make_select(Gen *g)
{
    Value *a = pick(g, NDTYPE), *b = pick_like(g, &a->op->type);
    Type t = a->op->type;
    t.dtype = DT_bool;
    Value *p = pick_like(g, &t);
    Op *op = begin(g, OP_select, 3, (Value *[]){p, a, b});
    return keep(g, op, fraction_of(g, op));
}

static Value *make_logic(Gen *g)
{
    Value *a = pick(g, DT_bool), *b = pick_like(g, &a->op->type);
    if (chance(g, 30))
        return make_unary(g, OP_not, a, 0);
    return keep(
        g, begin(g, chance(g, 50) ? OP_and : OP_or, 2, (Value *[]){a, b}), 0);
}

static Value *make_convert(Gen *g)
{
    const DType types[] = {random_float(g), DT_i32, DT_bool};
    Value *a = pick(g, NDTYPE);
    DType to = types[below(g, 3)];
    if (!dtype_is_float(to) && !is_exact(a))
        return NULL;
    Op *op = begin(g, OP_convert, 1, &a);
    op->type = a->op->type;
    op->type.dtype = to;
    return keep(g, op, dtype_is_float(to) ? a->fraction : 0);
}

// --- sources -----------------------------------------------------------------

static Value *make_source(Gen *g)
{
    Type t = {.dtype = chance(g, 50) ? DT_f32 : DT_i32,
              .rank = 1 + below(g, 3)};
    for (int i = 0; i < t.rank; i++)
        t.dim[i] = random_size(g);
    bool is_table = chance(g, 30) && type_count(&t) < 100;
    Op *op = begin(g, chance(g, 60) ? OP_iota : OP_constant, 0, NULL);
    op->type = t;
    if (op->code == OP_iota)
        op_set_int(g->ops, op, A_dim, below(g, t.rank));
    else
        op_set_floats(g->ops, op, A_value, is_table ? (int)type_count(&t) : 1,
                      random_input(g->arena, &t, below(g, 4)));
    return keep(g, op, dtype_is_float(t.dtype) ? 6 : 0);
}

// --- products and reductions -------------------------------------------------

// Letters for the operands: a dimension of b may be one of a.
static void spell_operands(Gen *g, Value *const in[2],
                           char spec[2][MAX_RANK + 1], int *nletter)
{
    *nletter = 0;
    for (int t = 0; t < 2; t++) {
        const Type *type = &in[t]->op->type, *first = &in[0]->op->type;
        for (int i = 0; i < type->rank; i++) {
            char c = 0;
            for (int k = 0; t && k < first->rank && !c; k++)
                if (first->dim[k] == type->dim[i] &&
                    !memchr(spec[1], 'a' + k, (size_t)i) && chance(g, 75))
                    c = (char)('a' + k);
            spec[t][i] = c ? c : (char)('a' + (*nletter)++);
        }
        spec[t][type->rank] = '\0';
    }
}

// The letters of the result in some order: shared ones are mostly summed.
static void spell_result(Gen *g, char spec[2][MAX_RANK + 1], int nletter,
                         char out[])
{
    int n = 0;
    for (int c = 'a'; c < 'a' + nletter; c++) {
        bool shared = strchr(spec[0], c) && strchr(spec[1], c);
        if (n < 4 && chance(g, shared ? 35 : 90))
            out[n++] = (char)c;
    }
    for (int i = n - 1; i > 0 && chance(g, 60); i--) {
        int k = below(g, i + 1);
        char c = out[i];
        out[i] = out[k];
        out[k] = c;
    }
    out[n] = '\0';
}

static Value *make_einsum(Gen *g)
{
    char spec[2][MAX_RANK + 1], out[8];
    int nletter;
    DType dtype = random_float(g);
    Value *in[2] = {pick(g, dtype), pick(g, dtype)};
    if (chance(g, 30)) {
        Type t = {.dtype = dtype, .rank = 2};
        const Type *a = &in[0]->op->type;
        t.dim[0] = a->rank ? a->dim[below(g, a->rank)] : 4;
        t.dim[1] = random_size(g);
        in[1] = pick_like(g, &t);
        if (!in[1])
            return NULL;
    }
    spell_operands(g, in, spec, &nletter);
    spell_result(g, spec, nletter, out);
    Op *op = begin(g, OP_einsum, 2, in);
    op_set_str(g->ops, op, A_spec,
               arena_printf(g->arena, "%s,%s->%s", spec[0], spec[1], out));
    if (chance(g, 20))
        op_set_str(g->ops, op, A_dtype, "f32");
    return keep(g, op, in[0]->fraction + in[1]->fraction);
}

static Value *make_reduce(Gen *g)
{
    static const OpCode codes[] = {OP_reduce_sum, OP_reduce_sum, OP_reduce_max,
                                   OP_reduce_min};
    Value *a = pick(g, chance(g, 80) ? random_float(g) : DT_i32);
    int64_t dims[MAX_RANK];
    int n = 0;
    for (int i = 0; i < a->op->type.rank; i++)
        if (chance(g, 50))
            dims[n++] = i;
    Op *op = begin(g, codes[below(g, 4)], 1, &a);
    op_set_ints(g->ops, op, A_dims, n, dims);
    return keep(g, op, a->fraction);
}

static Value *make_cumsum(Gen *g)
{
    Value *a = pick(g, chance(g, 80) ? random_float(g) : DT_i32);
    if (!a->op->type.rank)
        return NULL;
    Op *op = begin(g, OP_cumsum, 1, &a);
    op_set_int(g->ops, op, A_dim, below(g, a->op->type.rank));
    if (chance(g, 30))
        op_set_int(g->ops, op, A_reverse, 1);
    return keep(g, op, a->fraction);
}

// --- gather, attention, route ------------------------------------------------

static Value *make_gather(Gen *g)
{
    Value *in[2] = {pick(g, NDTYPE), pick(g, DT_i32)};
    const Type *t = &in[0]->op->type, *ids = &in[1]->op->type;
    int most = 0;
    while (most < t->rank - 1 && most < ids->rank &&
           t->dim[most] == ids->dim[most])
        most++;
    if (!t->rank || t->rank + ids->rank > 5)
        return NULL;
    for (int i = 0; i < t->rank; i++)
        if (t->dim[i] == 0)
            return NULL;
    Op *op = begin(g, OP_gather, 2, in);
    op_set_int(g->ops, op, A_batch, below(g, most + 1));
    return keep(g, op, in[0]->fraction);
}

static Value *like(Gen *g, DType dtype, int rank, int64_t a, int64_t b,
                   int64_t c, int64_t d)
{
    Type t = {dtype, rank, {a, b, c, d}};
    return pick_like(g, &t);
}

static Value *make_attention(Gen *g)
{
    int64_t b = random_size(g), s = random_size(g), t = random_size(g);
    int64_t h = 1 + below(g, 4), d = 1 + below(g, 3), v = 1 + below(g, 4);
    if (b * s * h * v > MAX_COUNT || b * t * h * d > MAX_COUNT ||
        b * t * h * v > MAX_COUNT || b * s * h * d > MAX_COUNT)
        return NULL;
    if (chance(g, 60))
        t = s;
    DType dtype = random_float(g);
    Value *in[5] = {
        like(g, dtype, 4, b, s, h, d), like(g, dtype, 4, b, t, h, d),
        like(g, dtype, 4, b, t, h, v), like(g, DT_i32, 2, b, s, 1, 1),
        like(g, DT_i32, 2, b, t, 1, 1)};
    for (int i = 0; i < 5; i++)
        if (!in[i] || (i < 2 && !all_below(in[i], 20)))
            return NULL;
    Op *op = begin(g, OP_attention, 5, in);
    op_set_int(g->ops, op, A_causal, below(g, 2));
    return keep(g, op, INEXACT);
}

static Value *make_route(Gen *g)
{
    Value *a = pick(g, random_float(g));
    const Type *t = &a->op->type;
    int64_t n = t->rank ? t->dim[t->rank - 1] : 0;
    if (!is_exact(a) || n < 1)
        return NULL;
    int64_t groups = below(g, (int)n + 1), top = 0, k = 1 + below(g, (int)n);
    if (groups && n % groups)
        groups = 0;
    if (groups)
        top = 1 + below(g, (int)groups);
    Op *op = begin(g, OP_route, 1, &a);
    op_set_int(g->ops, op, A_k, k);
    op_set_int(g->ops, op, A_groups, groups);
    op_set_int(g->ops, op, A_top_groups, top);
    op_set_str(g->ops, op, A_group_score, chance(g, 50) ? "top2" : "max");
    return keep(g, op, 0);
}

static Value *make_shard(Gen *g)
{
    Value *a = pick(g, NDTYPE);
    Op *op = begin(g, OP_shard, 1, &a);
    op->type = a->op->type;
    op->sharding = random_sharding(g, &op->type, false);
    return keep(g, op, a->fraction);
}

static const struct {
    MakeFn *make;
    int weight;
} makers[] = {
    {make_smooth, 5},  {make_partial, 6}, {make_sign, 4},
    {make_binary, 14}, {make_divide, 4},  {make_compare, 4},
    {make_select, 5},  {make_logic, 2},   {make_convert, 4},
    {make_source, 5},  {make_einsum, 16}, {make_reduce, 10},
    {make_cumsum, 3},  {make_gather, 6},  {make_attention, 3},
    {make_route, 3},   {make_shard, 10},  {make_scan, 5},
    {make_moved, 30},
};

bool random_op(Gen *g)
{
    int n = sizeof makers / sizeof makers[0], total = 0;
    for (int i = 0; i < n; i++)
        total += makers[i].weight;
    int at = below(g, total), i = 0;
    for (; at >= makers[i].weight; i++)
        at -= makers[i].weight;
    return makers[i].make(g) != NULL;
}
