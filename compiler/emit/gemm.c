// The blocked loops around the inner kernel.
//
//   for columns jc by NC
//     for k pc by KC          pack B[pc, jc]
//       for rows ic by MC     pack A[ic, pc]
//         for tiles jr, ir of the block    C[ir, jr] (+)= panel product
//
// Sums that are not wanted as they are lie tile by tile in scratch until the
// last k is in; then the end turns each tile into what is stored. To keep them
// in the cache, columns and rows are taken in smaller blocks then.
#include "emit/gemm.h"

#include <stdio.h>
#include <string.h>

typedef struct Gemm {
    const GemmKind *kind;
    LLVMValueRef param[GEMM_NPARAM];
    const LLVMValueRef *extra;
    LLVMValueRef a_panels, b_panels, sums, tile; // scratch
    LLVMValueRef jc, nc, im, pc, kc, ic, mc;     // the block
} Gemm;

static LLVMValueRef round_up_by(const Gen *g, LLVMValueRef n, int64_t unit)
{
    LLVMValueRef up = gen_add(g, n, gen_i64(g, unit - 1));
    up = LLVMBuildUDiv(g->b, up, gen_i64(g, unit), "");
    return gen_scale(g, up, unit);
}

static int64_t block_columns(const Gemm *m)
{
    return m->kind->sums == SUMS_WAIT ? GEMM_WAIT_N : GEMM_NC;
}

// The layout that gemm_scratch makes room for.
static void place_scratch(const Gen *g, Gemm *m)
{
    LLVMValueRef *p = m->param;
    LLVMValueRef kc = gen_min(g, p[GEMM_k], gen_i64(g, GEMM_KC));
    LLVMValueRef rows = gen_min(g, p[GEMM_m], gen_i64(g, GEMM_MC));
    LLVMValueRef columns = gen_min(g, p[GEMM_n], gen_i64(g, block_columns(m)));
    rows = round_up_by(g, rows, g->rows);
    columns = round_up_by(g, columns, gen_tile_columns(g));
    LLVMValueRef a_bytes =
        round_up_by(g, gen_scale(g, gen_mul(g, rows, kc), 4), 64);
    LLVMValueRef b_bytes =
        round_up_by(g, gen_scale(g, gen_mul(g, columns, kc), 4), 64);
    m->a_panels = p[GEMM_scratch];
    m->b_panels = gen_address(g, m->a_panels, a_bytes);
    m->sums = gen_address(g, m->b_panels, b_bytes);
}

static LLVMValueRef is_zero(const Gen *g, LLVMValueRef x)
{
    return LLVMBuildICmp(g->b, LLVMIntEQ, x, gen_i64(g, 0), "");
}

// 0 where this block is the first along k, so that C is overwritten.
static LLVMValueRef must_add(const Gen *g, const Gemm *m)
{
    LLVMValueRef first = LLVMBuildSelect(g->b, is_zero(g, m->param[GEMM_first]),
                                         gen_i64(g, 1), gen_i64(g, 0), "");
    return LLVMBuildOr(g->b, first, m->pc, "");
}

// C (+)= tile, element by element: tiles at the edges of C.
static void add_edge(const Gen *g, const Tile *t, LLVMValueRef c,
                     LLVMValueRef pitch, LLVMValueRef add)
{
    Loop i, j;
    Branch b;
    LLVMValueRef one = gen_i64(g, 1), zero = gen_i64(g, 0);
    loop_begin(g, &i, zero, t->rows, one, 0, NULL);
    LLVMValueRef to = gen_address(g, c, gen_mul(g, i.i, pitch));
    LLVMValueRef from =
        gen_address(g, t->sums, gen_scale(g, i.i, gen_tile_pitch(g)));
    loop_begin(g, &j, zero, t->columns, one, 0, NULL);
    LLVMValueRef out = gen_address(g, to, gen_scale(g, j.i, 4));
    LLVMValueRef x =
        gen_load(g, g->f32, gen_address(g, from, gen_scale(g, j.i, 4)), 4);
    branch_if(g, &b, is_zero(g, add));
    gen_store(g, x, out, 4);
    branch_else(g, &b);
    gen_store(g, LLVMBuildFAdd(g->b, gen_load(g, g->f32, out, 4), x, ""), out,
              4);
    branch_end(g, &b);
    loop_end(g, &j, NULL);
    loop_end(g, &i, NULL);
}

static void call_tile(Gen *g, const Gemm *m, LLVMValueRef a, LLVMValueRef b,
                      LLVMValueRef c, LLVMValueRef pitch, LLVMValueRef add)
{
    gen_call(g, gemm_tile_function(g), 6,
             (LLVMValueRef[]){m->kc, a, b, c, pitch, add});
}

// A tile of C itself; at the edge through a tile of its own.
static void multiply_into_c(Gen *g, const Gemm *m, LLVMValueRef a,
                            LLVMValueRef b, Tile *t)
{
    LLVMValueRef at =
        gen_add(g, gen_mul(g, t->row, m->param[GEMM_c_m]), t->column);
    LLVMValueRef c = gen_address(g, m->param[GEMM_c], gen_scale(g, at, 4));
    LLVMValueRef pitch = gen_scale(g, m->param[GEMM_c_m], 4);
    LLVMValueRef add = must_add(g, m);
    LLVMValueRef full = LLVMBuildAnd(
        g->b, LLVMBuildICmp(g->b, LLVMIntEQ, t->rows, gen_i64(g, g->rows), ""),
        LLVMBuildICmp(g->b, LLVMIntEQ, t->columns,
                      gen_i64(g, gen_tile_columns(g)), ""),
        "");
    Branch is_full;
    branch_if(g, &is_full, full);
    call_tile(g, m, a, b, c, pitch, add);
    branch_else(g, &is_full);
    t->sums = m->tile;
    call_tile(g, m, a, b, m->tile, gen_i64(g, gen_tile_pitch(g)),
              gen_i64(g, 0));
    add_edge(g, t, c, pitch, add);
    branch_end(g, &is_full);
}

// Where the sums of a tile wait: tiles lie row by row of tiles.
static LLVMValueRef sums_of_tile(const Gen *g, const Gemm *m, const Tile *t)
{
    int64_t width = gen_tile_columns(g);
    LLVMValueRef row_of_tiles =
        gen_mul(g, gen_sub(g, t->row, m->im), round_up_by(g, m->nc, width));
    LLVMValueRef before = gen_scale(g, gen_sub(g, t->column, m->jc), g->rows);
    return gen_address(g, m->sums,
                       gen_scale(g, gen_add(g, row_of_tiles, before), 4));
}

// Whether the block is the last one along k.
static LLVMValueRef is_last_block(const Gen *g, const Gemm *m)
{
    LLVMValueRef end = gen_add(g, m->pc, m->kc);
    LLVMValueRef done =
        LLVMBuildICmp(g->b, LLVMIntEQ, end, m->param[GEMM_k], "");
    LLVMValueRef last =
        LLVMBuildICmp(g->b, LLVMIntNE, m->param[GEMM_last], gen_i64(g, 0), "");
    return LLVMBuildAnd(g->b, done, last, "");
}

static void multiply_to_end(Gen *g, const Gemm *m, LLVMValueRef a,
                            LLVMValueRef b, Tile *t)
{
    Branch last;
    const GemmEnd *end = &m->kind->end;
    bool waits = m->kind->sums == SUMS_WAIT;
    LLVMValueRef pitch = gen_i64(g, gen_tile_pitch(g));
    LLVMValueRef is_last = is_last_block(g, m);
    t->sums = waits ? sums_of_tile(g, m, t) : m->tile;
    branch_if(g, &last, is_last);
    end->prefetch(g, end->context, m->extra, t);
    branch_end(g, &last);
    call_tile(g, m, a, b, t->sums, pitch,
              waits ? must_add(g, m) : gen_i64(g, 0));
    branch_if(g, &last, is_last);
    end->store(g, end->context, m->extra, t);
    branch_end(g, &last);
}

static void multiply_block(Gen *g, const Gemm *m)
{
    Loop j, i;
    int64_t width = gen_tile_columns(g);
    LLVMValueRef zero = gen_i64(g, 0);
    loop_begin(g, &j, zero, m->nc, gen_i64(g, width), 0, NULL);
    LLVMValueRef b =
        gen_address(g, m->b_panels, gen_scale(g, gen_mul(g, j.i, m->kc), 4));
    loop_begin(g, &i, zero, m->mc, gen_i64(g, g->rows), 0, NULL);
    LLVMValueRef a =
        gen_address(g, m->a_panels, gen_scale(g, gen_mul(g, i.i, m->kc), 4));
    Tile t = {
        .row = gen_add(g, m->ic, i.i),
        .column = gen_add(g, m->jc, j.i),
        .rows = gen_min(g, gen_sub(g, m->mc, i.i), gen_i64(g, g->rows)),
        .columns = gen_min(g, gen_sub(g, m->nc, j.i), gen_i64(g, width)),
    };
    if (m->kind->sums != SUMS_IN_C)
        multiply_to_end(g, m, a, b, &t);
    else
        multiply_into_c(g, m, a, b, &t);
    loop_end(g, &i, NULL);
    loop_end(g, &j, NULL);
}

static LLVMValueRef element(const Gen *g, LLVMValueRef base, DType t,
                            LLVMValueRef i, LLVMValueRef stride_i,
                            LLVMValueRef j, LLVMValueRef stride_j)
{
    LLVMValueRef at =
        gen_add(g, gen_mul(g, i, stride_i), gen_mul(g, j, stride_j));
    return gen_address(g, base, gen_scale(g, at, dtype_bytes[t]));
}

static void pack_b(Gen *g, const Gemm *m)
{
    const LLVMValueRef *p = m->param;
    LLVMValueRef from = element(g, p[GEMM_b], m->kind->b, m->pc, p[GEMM_b_k],
                                m->jc, p[GEMM_b_n]);
    LLVMValueRef f = gemm_pack_function(g, m->kind->b, gen_tile_columns(g),
                                        m->kind->b_order);
    gen_call(g, f, 6,
             (LLVMValueRef[]){from, m->b_panels, m->nc, m->kc, p[GEMM_b_n],
                              p[GEMM_b_k]});
}

static void pack_a(Gen *g, const Gemm *m)
{
    const LLVMValueRef *p = m->param;
    LLVMValueRef from = element(g, p[GEMM_a], m->kind->a, m->ic, p[GEMM_a_m],
                                m->pc, p[GEMM_a_k]);
    LLVMValueRef f =
        gemm_pack_function(g, m->kind->a, g->rows, m->kind->a_order);
    gen_call(g, f, 6,
             (LLVMValueRef[]){from, m->a_panels, m->mc, m->kc, p[GEMM_a_m],
                              p[GEMM_a_k]});
}

static LLVMValueRef block_loop(const Gen *g, Loop *l, LLVMValueRef n,
                               int64_t block)
{
    loop_begin(g, l, gen_i64(g, 0), n, gen_i64(g, block), 0, NULL);
    return gen_min(g, gen_sub(g, n, l->i), gen_i64(g, block));
}

static void write_gemm(Gen *g, Gemm *m)
{
    Loop jc, im, pc, ic;
    bool waits = m->kind->sums == SUMS_WAIT;
    if (!waits)
        m->tile = gen_stack(g, g->rows * gen_tile_pitch(g));
    place_scratch(g, m);
    m->nc = block_loop(g, &jc, m->param[GEMM_n], block_columns(m));
    m->jc = jc.i;
    LLVMValueRef rows =
        block_loop(g, &im, m->param[GEMM_m], waits ? GEMM_WAIT_M : INT64_MAX);
    m->im = im.i;
    m->kc = block_loop(g, &pc, m->param[GEMM_k], GEMM_KC);
    m->pc = pc.i;
    pack_b(g, m);
    m->mc = block_loop(g, &ic, rows, GEMM_MC);
    m->ic = gen_add(g, im.i, ic.i);
    pack_a(g, m);
    multiply_block(g, m);
    loop_end(g, &ic, NULL);
    loop_end(g, &pc, NULL);
    loop_end(g, &im, NULL);
    loop_end(g, &jc, NULL);
    gen_return(g);
}

LLVMValueRef gemm_function(Gen *g, const GemmKind *kind)
{
    LLVMValueRef f, extra[GEMM_EXTRA];
    char name[160], params[GEMM_NPARAM + GEMM_EXTRA] = "ppppiiiiiiiiii";
    snprintf(name, sizeof name, "gemm_%s%d_%s%d_%d%s", dtype_name[kind->a],
             (int)kind->a_order, dtype_name[kind->b], (int)kind->b_order,
             (int)kind->sums, kind->end.store ? kind->end.name : "");
    if (kind->end.extra)
        strncat(params, kind->end.extra, sizeof params - GEMM_NPARAM - 1);
    if (!gen_function(g, name, params, &f))
        return f;
    Gemm m = {.kind = kind, .extra = extra};
    for (unsigned i = 0; i < GEMM_NPARAM; i++)
        m.param[i] = LLVMGetParam(f, i);
    for (unsigned i = GEMM_NPARAM; params[i]; i++)
        extra[i - GEMM_NPARAM] = LLVMGetParam(f, i);
    write_gemm(g, &m);
    return f;
}
