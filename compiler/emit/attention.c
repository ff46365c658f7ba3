// Attention without storing the scores: after Dao et al. (2022).
//
//   for each head              pack keys and values
//     for 48 queries           pack queries
//       for 256 keys           scores = q k^T, mask, softmax so far,
//                              sums = sums * (old scale) + weights v
//       result = sums / total
//
// Key blocks after the last query are skipped if the op is causal, unless all
// keys of a query are masked so far: such a query attends to all keys alike.
#include <math.h>

#include "emit/attention_code.h"
#include "emit/gemm.h"

LLVMValueRef attention_part(const Attention *a, int64_t at)
{
    return gen_offset(a->g, a->c->scratch, at);
}

LLVMValueRef attention_row(const Attention *a, int64_t at, LLVMValueRef i,
                           int64_t pitch)
{
    return gen_address(a->g, attention_part(a, at),
                       gen_scale(a->g, i, 4 * pitch));
}

// Packs n x k of an access, of which n runs along one of its dimensions.
static void pack(const Attention *a, int access, LLVMValueRef from, int n_dim,
                 int k_dim, LLVMValueRef n, LLVMValueRef k, int width,
                 int64_t to)
{
    Gen *g = a->g;
    int64_t along_n = access_stride(a->c, access, n_dim);
    int64_t along_k = access_stride(a->c, access, k_dim);
    PackOrder order = along_n == 1   ? PACK_WIDTH
                      : along_k == 1 ? PACK_K
                                     : PACK_ANY;
    LLVMValueRef f = gemm_pack_function(
        g, a->c->kernel->access.at[access].dtype, width, order);
    gen_call(g, f, 6,
             (LLVMValueRef[]){from, attention_part(a, to), n, k,
                              gen_i64(g, along_n), gen_i64(g, along_k)});
}

// --- products ----------------------------------------------------------------

// C[i, j] (+)= panels: rows of queries by columns.
static void multiply(const Attention *a, LLVMValueRef left, LLVMValueRef right,
                     LLVMValueRef right_pitch, LLVMValueRef c, int64_t c_pitch,
                     LLVMValueRef columns, LLVMValueRef depth, LLVMValueRef add)
{
    Loop i, j;
    Gen *g = a->g;
    int width = gen_tile_columns(g);
    LLVMValueRef zero = gen_i64(g, 0);
    loop_begin(g, &j, zero, columns, gen_i64(g, width), 0, NULL);
    LLVMValueRef b = gen_address(g, right, gen_mul(g, j.i, right_pitch));
    loop_begin(g, &i, zero, a->nq, gen_i64(g, g->rows), 0, NULL);
    LLVMValueRef rows =
        gen_address(g, left, gen_scale(g, gen_mul(g, i.i, depth), 4));
    LLVMValueRef at = gen_add(g, gen_scale(g, i.i, c_pitch), j.i);
    gen_call(g, gemm_tile_function(g), 6,
             (LLVMValueRef[]){depth, rows, b,
                              gen_address(g, c, gen_scale(g, at, 4)),
                              gen_i64(g, 4 * c_pitch), add});
    loop_end(g, &i, NULL);
    loop_end(g, &j, NULL);
}

static void multiply_keys(const Attention *a)
{
    Gen *g = a->g;
    LLVMValueRef keys = gen_address(g, attention_part(a, a->at.keys),
                                    gen_scale(g, a->t0, 4 * a->d));
    multiply(a, attention_part(a, a->at.queries), keys, gen_i64(g, 4 * a->d),
             attention_part(a, a->at.scores), KEY_BLOCK, a->nt,
             gen_i64(g, a->d), gen_i64(g, 0));
}

static void multiply_values(const Attention *a)
{
    Gen *g = a->g;
    LLVMValueRef f = gemm_pack_function(g, DT_f32, g->rows, PACK_K);
    gen_call(g, f, 6,
             (LLVMValueRef[]){attention_part(a, a->at.scores),
                              attention_part(a, a->at.weights), a->nq, a->nt,
                              gen_i64(g, KEY_BLOCK), gen_i64(g, 1)});
    LLVMValueRef values = gen_address(g, attention_part(a, a->at.values),
                                      gen_scale(g, a->t0, gen_tile_pitch(g)));
    multiply(a, attention_part(a, a->at.weights), values, gen_i64(g, 4 * a->t),
             attention_part(a, a->at.sums), a->at.sums_pitch, gen_i64(g, a->v),
             a->nt, a->t0);
}
// --- blocks ------------------------------------------------------------------

static void start_rows(const Attention *a)
{
    Loop l;
    const Gen *g = a->g;
    loop_begin(g, &l, gen_i64(g, 0), a->nq, gen_i64(g, 1), 0, NULL);
    gen_store(g, gen_float(g, -INFINITY, 1),
              attention_row(a, a->at.max, l.i, 1), 4);
    gen_store(g, gen_float(g, 0, 1), attention_row(a, a->at.total, l.i, 1), 4);
    loop_end(g, &l, NULL);
    gen_store(g, gen_float(g, INFINITY, 1), a->lowest, 4);
}

static void store_columns(const Attention *a, LLVMValueRef sums,
                          LLVMValueRef out, LLVMValueRef inverse, int64_t from,
                          int64_t to, int lanes)
{
    Loop l;
    const Gen *g = a->g;
    DType t = a->c->kernel->op->type.dtype;
    if (from >= to)
        return;
    loop_count(g, &l, from, to, lanes);
    LLVMValueRef p = gen_address(g, sums, gen_scale(g, l.i, 4));
    LLVMValueRef x = gen_load(g, gen_vector(g->f32, lanes), p, 4);
    x = LLVMBuildFMul(g->b, x, gen_splat(g, inverse, lanes), "");
    if (t == DT_bf16)
        x = gen_round_bf16(g, x, lanes);
    gen_store_as(g, t, x, access_along(a->c, OUT, out, 3, l.i), lanes);
    loop_end(g, &l, NULL);
}

static void store_rows(const Attention *a)
{
    Loop l;
    const Gen *g = a->g;
    int64_t whole = a->v / g->lanes * g->lanes;
    loop_begin(g, &l, gen_i64(g, 0), a->nq, gen_i64(g, 1), 0, NULL);
    LLVMValueRef out =
        access_along(a->c, OUT, a->p[OUT], 1, gen_add(g, a->q0, l.i));
    LLVMValueRef sums = attention_row(a, a->at.sums, l.i, a->at.sums_pitch);
    LLVMValueRef total =
        gen_load(g, g->f32, attention_row(a, a->at.total, l.i, 1), 4);
    LLVMValueRef inverse = LLVMBuildFDiv(g->b, gen_float(g, 1, 1), total, "");
    store_columns(a, sums, out, inverse, 0, whole, g->lanes);
    store_columns(a, sums, out, inverse, whole, a->v, 1);
    loop_end(g, &l, NULL);
}

// The place after the last query of the block.
static LLVMValueRef end_of_queries(const Attention *a)
{
    const Gen *g = a->g;
    return gen_add(g, gen_add(g, a->c->access[FIRST], a->q0), a->nq);
}

// A block of keys ends with the last one that a query of the block may see, in
// whole tiles.
static LLVMValueRef key_count(const Attention *a)
{
    const Gen *g = a->g;
    LLVMValueRef n =
        gen_min(g, gen_sub(g, gen_i64(g, a->t), a->t0), gen_i64(g, KEY_BLOCK));
    if (!a->is_causal)
        return n;
    int64_t width = gen_tile_columns(g);
    LLVMValueRef seen = gen_sub(g, end_of_queries(a), a->t0);
    LLVMValueRef some =
        LLVMBuildICmp(g->b, LLVMIntSGT, seen, gen_i64(g, 0), "");
    seen = gen_add(g, seen, gen_i64(g, width - 1));
    seen = LLVMBuildAnd(g->b, seen, gen_i64(g, -width), "");
    return LLVMBuildSelect(g->b, some, gen_min(g, n, seen), n, "");
}

// Whether a block of keys matters to the block of queries.
static LLVMValueRef is_needed(const Attention *a)
{
    const Gen *g = a->g;
    if (!a->is_causal)
        return LLVMConstInt(g->i1, 1, false);
    LLVMValueRef before =
        LLVMBuildICmp(g->b, LLVMIntSLT, a->t0, end_of_queries(a), "");
    LLVMValueRef lowest = gen_load(g, g->f32, a->lowest, 4);
    LLVMValueRef blind =
        LLVMBuildFCmp(g->b, LLVMRealOLE, lowest, gen_float(g, masked, 1), "");
    return LLVMBuildOr(g->b, before, blind, "");
}

static void attend_block(Attention *a)
{
    Loop l;
    Branch b;
    Gen *g = a->g;
    pack(a, Q, access_along(a->c, Q, a->p[Q], 1, a->q0), 1, 3, a->nq,
         gen_i64(g, a->d), g->rows, a->at.queries);
    start_rows(a);
    loop_count(g, &l, 0, a->t, KEY_BLOCK);
    a->t0 = l.i;
    a->nt = key_count(a);
    LLVMValueRef needed = is_needed(a);
    branch_if(g, &b, needed);
    multiply_keys(a);
    softmax_block(a);
    multiply_values(a);
    branch_end(g, &b);
    l.step = LLVMBuildSelect(g->b, needed, a->nt, gen_i64(g, a->t), "");
    loop_end(g, &l, NULL);
    store_rows(a);
}

static void attend_head(Attention *a)
{
    Loop l;
    Gen *g = a->g;
    pack(a, K, a->p[K], 1, 3, gen_i64(g, a->t), gen_i64(g, a->d),
         gen_tile_columns(g), a->at.keys);
    pack(a, V, a->p[V], 3, 1, gen_i64(g, a->v), gen_i64(g, a->t),
         gen_tile_columns(g), a->at.values);
    loop_count(g, &l, 0, a->s, QUERY_BLOCK);
    a->q0 = l.i;
    a->nq =
        gen_min(g, gen_sub(g, gen_i64(g, a->s), l.i), gen_i64(g, QUERY_BLOCK));
    attend_block(a);
    loop_end(g, &l, NULL);
}

// Dense, so that vectors of them can be read past the last key.
static void copy_segments(const Attention *a)
{
    Loop l;
    const Gen *g = a->g;
    loop_count(g, &l, 0, a->t, 1);
    LLVMValueRef from = access_along(a->c, SEG_K, a->p[SEG_K], 1, l.i);
    gen_store(g, gen_load(g, g->i32, from, 4),
              attention_row(a, a->at.segments, l.i, 1), 4);
    loop_end(g, &l, NULL);
}

void emit_attention(KernelCode *c)
{
    Loop b, h;
    Gen *g = c->g;
    const Op *op = c->kernel->op;
    const int64_t *q = op->operand[Q - 1]->type.dim;
    Attention a = {
        .c = c,
        .g = g,
        .at = attention_layout(op),
        .s = q[1],
        .t = op->operand[K - 1]->type.dim[1],
        .d = q[3],
        .v = op->type.dim[3],
        .is_causal = op_int(op, A_causal, 0) != 0,
        .lowest = gen_stack(g, 64),
    };
    loop_count(g, &b, 0, q[0], 1);
    loop_count(g, &h, 0, q[2], 1);
    for (int i = OUT; i < FIRST; i++) {
        a.p[i] = access_along(c, i, c->access[i], 0, b.i);
        if (i < SEG_Q)
            a.p[i] = access_along(c, i, a.p[i], 2, h.i);
    }
    copy_segments(&a);
    attend_head(&a);
    loop_end(g, &h, NULL);
    loop_end(g, &b, NULL);
}
