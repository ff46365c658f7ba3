// The inner kernel of matrix products: `rows` x 2 vectors of sums in registers.
#include "emit/gemm.h"

enum {
    VECTORS = 2,
    UNROLL = 4,
};

typedef struct TileCode {
    int rows;
    LLVMTypeRef vector;
    LLVMValueRef k, a, b, c, pitch, add;
    LLVMValueRef row[16]; // addresses in c
} TileCode;

int gen_tile_columns(const Gen *g)
{
    return VECTORS * g->lanes;
}

int64_t gen_tile_pitch(const Gen *g)
{
    return (int64_t)4 * VECTORS * g->lanes;
}

static LLVMValueRef vector_at(const Gen *g, LLVMValueRef p, int j)
{
    return gen_offset(g, p, (int64_t)j * g->lanes * 4);
}

// One step of k: every sum += a[i] * b[j].
static void multiply_step(const Gen *g, const TileCode *t, LLVMValueRef a,
                          LLVMValueRef b, LLVMValueRef sum[])
{
    LLVMValueRef column[VECTORS];
    for (int j = 0; j < VECTORS; j++)
        column[j] = gen_load(g, t->vector, vector_at(g, b, j), 4 * g->lanes);
    for (int i = 0; i < t->rows; i++) {
        LLVMValueRef x =
            gen_load(g, g->f32, gen_offset(g, a, (int64_t)4 * i), 4);
        x = gen_splat(g, x, g->lanes);
        for (int j = 0; j < VECTORS; j++) {
            LLVMValueRef *s = &sum[i * VECTORS + j];
            *s = gen_fma(g, x, column[j], *s);
        }
    }
}

// Steps of k while at least `unroll` are left; state is a, b, then the sums.
static void multiply_loop(const Gen *g, const TileCode *t, LLVMValueRef from,
                          LLVMValueRef to, int unroll, LLVMValueRef state[])
{
    Loop l;
    int n = 2 + t->rows * VECTORS;
    loop_begin(g, &l, from, to, gen_i64(g, unroll), n, state);
    LLVMValueRef next[MAX_CARRY];
    for (int i = 0; i < n; i++)
        next[i] = l.carry[i];
    int64_t a_bytes = (int64_t)4 * t->rows, b_bytes = gen_tile_pitch(g);
    for (int u = 0; u < unroll; u++)
        multiply_step(g, t, gen_offset(g, l.carry[0], u * a_bytes),
                      gen_offset(g, l.carry[1], u * b_bytes), next + 2);
    next[0] = gen_offset(g, l.carry[0], unroll * a_bytes);
    next[1] = gen_offset(g, l.carry[1], unroll * b_bytes);
    loop_end(g, &l, next);
    for (int i = 0; i < n; i++)
        state[i] = l.carry[i];
}

static void store_sums(const Gen *g, const TileCode *t,
                       const LLVMValueRef sum[], bool add)
{
    for (int i = 0; i < t->rows; i++)
        for (int j = 0; j < VECTORS; j++) {
            LLVMValueRef p = vector_at(g, t->row[i], j);
            LLVMValueRef x = sum[i * VECTORS + j];
            if (add)
                x = LLVMBuildFAdd(g->b, gen_load(g, t->vector, p, 4), x, "");
            gen_store(g, x, p, 4);
        }
}

static void write_tile(Gen *g, TileCode *t)
{
    t->row[0] = t->c;
    for (int i = 1; i < t->rows; i++)
        t->row[i] = gen_address(g, t->row[i - 1], t->pitch);
    for (int i = 0; i < t->rows; i++)
        gen_prefetch(g, t->row[i], true);
    LLVMValueRef state[MAX_CARRY] = {t->a, t->b};
    for (int i = 0; i < t->rows * VECTORS; i++)
        state[2 + i] = LLVMConstNull(t->vector);
    LLVMValueRef left = LLVMBuildAnd(g->b, t->k, gen_i64(g, UNROLL - 1), "");
    LLVMValueRef whole = gen_sub(g, t->k, left);
    multiply_loop(g, t, gen_i64(g, 0), whole, UNROLL, state);
    multiply_loop(g, t, gen_i64(g, 0), left, 1, state);
    Branch b;
    branch_if(g, &b, LLVMBuildICmp(g->b, LLVMIntNE, t->add, gen_i64(g, 0), ""));
    store_sums(g, t, state + 2, true);
    branch_else(g, &b);
    store_sums(g, t, state + 2, false);
    branch_end(g, &b);
    gen_return(g);
}

LLVMValueRef gemm_tile_function(Gen *g)
{
    LLVMValueRef f;
    if (!gen_function(g, "gemm_tile", "ipppii", &f))
        return f;
    TileCode t = {
        .rows = g->rows,
        .vector = gen_vector(g->f32, g->lanes),
        .k = LLVMGetParam(f, 0),
        .a = LLVMGetParam(f, 1),
        .b = LLVMGetParam(f, 2),
        .c = LLVMGetParam(f, 3),
        .pitch = LLVMGetParam(f, 4),
        .add = LLVMGetParam(f, 5),
    };
    write_tile(g, &t);
    return f;
}
