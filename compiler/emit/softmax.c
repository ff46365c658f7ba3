// Attention's softmax over blocks of keys: what a row has so far is scaled when
// its maximum rises.
#include <math.h>

#include "emit/attention_code.h"
#include "emit/elementary.h"

typedef struct Row {
    LLVMValueRef i;       // in the block
    LLVMValueRef scores;  // address
    LLVMValueRef segment; // of the query
    LLVMValueRef last;    // the last key it may see, counted from t0
} Row;

static LLVMValueRef lane_numbers(const Gen *g)
{
    LLVMValueRef n[MAX_LANES];
    for (int i = 0; i < g->lanes; i++)
        n[i] = gen_i32(g, i);
    return g->lanes == 1 ? n[0] : LLVMConstVector(n, (unsigned)g->lanes);
}

// Scores from column j on, masked; -inf after the last key.
static LLVMValueRef masked_scores(const Attention *a, const Row *r,
                                  LLVMValueRef j)
{
    const Gen *g = a->g;
    int lanes = g->lanes;
    LLVMTypeRef ints = gen_vector(g->i32, lanes);
    LLVMValueRef p = gen_address(g, r->scores, gen_scale(g, j, 4));
    LLVMValueRef x = gen_load(g, gen_vector(g->f32, lanes), p, 4);
    LLVMValueRef column =
        gen_splat(g, LLVMBuildTrunc(g->b, j, g->i32, ""), lanes);
    column = gen_add(g, column, lane_numbers(g));
    LLVMValueRef segments =
        attention_row(a, a->at.segments, gen_add(g, a->t0, j), 1);
    LLVMValueRef seen =
        LLVMBuildICmp(g->b, LLVMIntEQ, gen_load(g, ints, segments, 4),
                      gen_splat(g, r->segment, lanes), "");
    if (a->is_causal)
        seen = LLVMBuildAnd(g->b, seen,
                            LLVMBuildICmp(g->b, LLVMIntSLE, column,
                                          gen_splat(g, r->last, lanes), ""),
                            "");
    x = LLVMBuildSelect(g->b, seen, x, gen_float(g, masked, lanes), "");
    LLVMValueRef count = LLVMBuildTrunc(g->b, a->nt, g->i32, "");
    LLVMValueRef is_key =
        LLVMBuildICmp(g->b, LLVMIntSLT, column, gen_splat(g, count, lanes), "");
    return LLVMBuildSelect(g->b, is_key, x, gen_float(g, -INFINITY, lanes), "");
}

static LLVMValueRef larger(const Gen *g, LLVMValueRef a, LLVMValueRef b)
{
    LLVMValueRef test = LLVMBuildFCmp(g->b, LLVMRealOGT, a, b, "");
    return LLVMBuildSelect(g->b, test, a, b, "");
}

static LLVMValueRef add(const Gen *g, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildFAdd(g->b, a, b, "");
}

static LLVMValueRef
combine_lanes(const Gen *g, LLVMValueRef x,
              LLVMValueRef (*combine)(const Gen *, LLVMValueRef, LLVMValueRef))
{
    LLVMValueRef y = LLVMBuildExtractElement(g->b, x, gen_i32(g, 0), "");
    for (int i = 1; i < g->lanes; i++)
        y = combine(g, y, LLVMBuildExtractElement(g->b, x, gen_i32(g, i), ""));
    return y;
}

// Masks a row of scores in place; returns the largest.
static LLVMValueRef mask_row(const Attention *a, const Row *r)
{
    Loop l;
    const Gen *g = a->g;
    LLVMValueRef max = gen_float(g, -INFINITY, g->lanes);
    loop_begin(g, &l, gen_i64(g, 0), a->nt, gen_i64(g, g->lanes), 1, &max);
    LLVMValueRef x = masked_scores(a, r, l.i);
    gen_store(g, x, gen_address(g, r->scores, gen_scale(g, l.i, 4)), 4);
    max = larger(g, x, l.carry[0]);
    loop_end(g, &l, &max);
    return combine_lanes(g, l.carry[0], larger);
}

// scores = exp(scores - max); returns their sum.
static LLVMValueRef exp_row(const Attention *a, const Row *r, LLVMValueRef max)
{
    Loop l;
    const Gen *g = a->g;
    LLVMValueRef sum = gen_float(g, 0, g->lanes);
    max = gen_splat(g, max, g->lanes);
    loop_begin(g, &l, gen_i64(g, 0), a->nt, gen_i64(g, g->lanes), 1, &sum);
    LLVMValueRef p = gen_address(g, r->scores, gen_scale(g, l.i, 4));
    LLVMValueRef x = gen_load(g, gen_vector(g->f32, g->lanes), p, 4);
    x = math_exp(g, LLVMBuildFSub(g->b, x, max, ""), g->lanes);
    gen_store(g, x, p, 4);
    sum = add(g, l.carry[0], x);
    loop_end(g, &l, &sum);
    return combine_lanes(g, l.carry[0], add);
}

static void scale_sums(const Attention *a, LLVMValueRef i, LLVMValueRef factor)
{
    Loop l;
    const Gen *g = a->g;
    LLVMValueRef row = attention_row(a, a->at.sums, i, a->at.sums_pitch);
    factor = gen_splat(g, factor, g->lanes);
    loop_count(g, &l, 0, a->at.sums_pitch, g->lanes);
    LLVMValueRef p = gen_address(g, row, gen_scale(g, l.i, 4));
    LLVMValueRef x = gen_load(g, gen_vector(g->f32, g->lanes), p, 4);
    gen_store(g, LLVMBuildFMul(g->b, x, factor, ""), p, 4);
    loop_end(g, &l, NULL);
}

// The softmax of a row goes on from what earlier blocks left.
static void softmax_row(const Attention *a, const Row *r)
{
    Branch b;
    const Gen *g = a->g;
    LLVMValueRef max_at = attention_row(a, a->at.max, r->i, 1);
    LLVMValueRef total_at = attention_row(a, a->at.total, r->i, 1);
    LLVMValueRef old = gen_load(g, g->f32, max_at, 4);
    LLVMValueRef max = larger(g, mask_row(a, r), old);
    LLVMValueRef sum = exp_row(a, r, max);
    LLVMValueRef factor = math_exp(g, LLVMBuildFSub(g->b, old, max, ""), 1);
    LLVMValueRef total = gen_load(g, g->f32, total_at, 4);
    gen_store(g, max, max_at, 4);
    gen_store(g, gen_fma(g, total, factor, sum), total_at, 4);
    LLVMValueRef rises = LLVMBuildFCmp(g->b, LLVMRealOGT, max, old, "");
    LLVMValueRef has_sums =
        LLVMBuildICmp(g->b, LLVMIntNE, a->t0, gen_i64(g, 0), "");
    branch_if(g, &b, LLVMBuildAnd(g->b, rises, has_sums, ""));
    scale_sums(a, r->i, factor);
    branch_end(g, &b);
    LLVMValueRef lowest = gen_load(g, g->f32, a->lowest, 4);
    LLVMValueRef lower = LLVMBuildFCmp(g->b, LLVMRealOLT, max, lowest, "");
    gen_store(g, LLVMBuildSelect(g->b, lower, max, lowest, ""), a->lowest, 4);
}

void softmax_block(const Attention *a)
{
    Loop l;
    const Gen *g = a->g;
    gen_store(g, gen_float(g, INFINITY, 1), a->lowest, 4);
    loop_begin(g, &l, gen_i64(g, 0), a->nq, gen_i64(g, 1), 0, NULL);
    LLVMValueRef query = gen_add(g, a->q0, l.i);
    LLVMValueRef segment = access_along(a->c, SEG_Q, a->p[SEG_Q], 1, query);
    LLVMValueRef place = gen_add(g, a->c->access[FIRST], query);
    Row r = {
        .i = l.i,
        .scores = attention_row(a, a->at.scores, l.i, KEY_BLOCK),
        .segment = gen_load(g, g->i32, segment, 4),
        .last = LLVMBuildTrunc(g->b, gen_sub(g, place, a->t0), g->i32, ""),
    };
    softmax_row(a, &r);
    loop_end(g, &l, NULL);
}
