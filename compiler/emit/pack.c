// Packing for matrix products: panels of `width` columns of a strided matrix,
// [panel][k][width], as f32, zeros where the last panel is not full.
//
// A source dense along k is transposed in registers, 8 x 8 at a time.
#include <stdio.h>

#include "emit/gemm.h"

enum {
    BLOCK = 8, // of a transpose
};

typedef struct Pack {
    DType dtype;
    int64_t width;
    PackOrder order;
    LLVMValueRef from, to, n, k, stride_n, stride_k;
} Pack;

static LLVMValueRef element_at(const Gen *g, const Pack *p, LLVMValueRef base,
                               LLVMValueRef n, LLVMValueRef k)
{
    LLVMValueRef at =
        gen_add(g, gen_mul(g, n, p->stride_n), gen_mul(g, k, p->stride_k));
    return gen_address(g, base, gen_scale(g, at, dtype_bytes[p->dtype]));
}

// One by one: sources dense along neither, last panels, the rest of k.
static void pack_single(const Gen *g, const Pack *p, LLVMValueRef from,
                        LLVMValueRef to, LLVMValueRef k0, LLVMValueRef count)
{
    Loop k, i;
    loop_begin(g, &k, k0, p->k, gen_i64(g, 1), 0, NULL);
    LLVMValueRef row = gen_address(g, to, gen_scale(g, k.i, 4 * p->width));
    loop_count(g, &i, 0, p->width, 1);
    LLVMValueRef out = gen_address(g, row, gen_scale(g, i.i, 4));
    Branch b;
    branch_if(g, &b, LLVMBuildICmp(g->b, LLVMIntSLT, i.i, count, ""));
    gen_store(g, gen_load_as(g, p->dtype, element_at(g, p, from, i.i, k.i), 1),
              out, 4);
    branch_else(g, &b);
    gen_store(g, gen_float(g, 0, 1), out, 4);
    branch_end(g, &b);
    loop_end(g, &i, NULL);
    loop_end(g, &k, NULL);
}

// Largest power of two of lanes, at most 8, that fits in n.
static int piece(int64_t n)
{
    return n >= 8 ? 8 : n >= 4 ? 4 : n >= 2 ? 2 : 1;
}

static void pack_rows(const Gen *g, const Pack *p, LLVMValueRef from,
                      LLVMValueRef to)
{
    Loop k;
    loop_begin(g, &k, gen_i64(g, 0), p->k, gen_i64(g, 1), 0, NULL);
    LLVMValueRef in = element_at(g, p, from, gen_i64(g, 0), k.i);
    LLVMValueRef out = gen_address(g, to, gen_scale(g, k.i, 4 * p->width));
    for (int64_t i = 0, n; i < p->width; i += n) {
        n = piece(p->width - i);
        LLVMValueRef at = gen_offset(g, in, i * dtype_bytes[p->dtype]);
        gen_store(g, gen_load_as(g, p->dtype, at, (int)n),
                  gen_offset(g, out, 4 * i), 4);
    }
    loop_end(g, &k, NULL);
}

// Transposes 8 vectors of 8 in place, by halves: pairs of elements, of pairs,
// of quarters.
static void transpose_block(const Gen *g, LLVMValueRef v[])
{
    static const int low[] = {0, 8, 1, 9, 4, 12, 5, 13};
    static const int high[] = {2, 10, 3, 11, 6, 14, 7, 15};
    static const int low2[] = {0, 1, 8, 9, 4, 5, 12, 13};
    static const int high2[] = {2, 3, 10, 11, 6, 7, 14, 15};
    static const int low4[] = {0, 1, 2, 3, 8, 9, 10, 11};
    static const int high4[] = {4, 5, 6, 7, 12, 13, 14, 15};
    LLVMValueRef t[BLOCK], u[BLOCK];
    for (int i = 0; i < BLOCK; i += 2) {
        t[i] = gen_shuffle(g, v[i], v[i + 1], BLOCK, low);
        t[i + 1] = gen_shuffle(g, v[i], v[i + 1], BLOCK, high);
    }
    for (int i = 0; i < BLOCK; i += 4)
        for (int j = 0; j < 2; j++) {
            u[i + 2 * j] = gen_shuffle(g, t[i + j], t[i + j + 2], BLOCK, low2);
            u[i + 2 * j + 1] =
                gen_shuffle(g, t[i + j], t[i + j + 2], BLOCK, high2);
        }
    for (int i = 0; i < 4; i++) {
        v[i] = gen_shuffle(g, u[i], u[i + 4], BLOCK, low4);
        v[i + 4] = gen_shuffle(g, u[i], u[i + 4], BLOCK, high4);
    }
}

// Stores the first n of 8 elements.
static void store_part(const Gen *g, LLVMValueRef v, LLVMValueRef to, int n)
{
    for (int i = 0, m; i < n; i += m) {
        m = piece(n - i);
        int pick[BLOCK];
        for (int j = 0; j < m; j++)
            pick[j] = i + j;
        LLVMValueRef part = m == BLOCK ? v : gen_shuffle(g, v, v, m, pick);
        gen_store(g, part, gen_offset(g, to, (int64_t)4 * i), 4);
    }
}

// Columns i0.. of 8 steps of k.
static void pack_block(const Gen *g, const Pack *p, LLVMValueRef in,
                       LLVMValueRef out, int64_t i0)
{
    LLVMValueRef v[BLOCK];
    int n = p->width - i0 < BLOCK ? (int)(p->width - i0) : BLOCK;
    for (int i = 0; i < BLOCK; i++) {
        LLVMValueRef at = gen_mul(g, gen_i64(g, i0 + i), p->stride_n);
        at = gen_address(g, in, gen_scale(g, at, dtype_bytes[p->dtype]));
        v[i] = i < n ? gen_load_as(g, p->dtype, at, BLOCK)
                     : LLVMGetPoison(gen_vector(g->f32, BLOCK));
    }
    transpose_block(g, v);
    for (int k = 0; k < BLOCK; k++)
        store_part(g, v[k], gen_offset(g, out, 4 * (k * p->width + i0)), n);
}

static void pack_transposed(const Gen *g, const Pack *p, LLVMValueRef from,
                            LLVMValueRef to)
{
    LLVMValueRef left = LLVMBuildAnd(g->b, p->k, gen_i64(g, BLOCK - 1), "");
    LLVMValueRef whole = gen_sub(g, p->k, left);
    Loop k;
    loop_begin(g, &k, gen_i64(g, 0), whole, gen_i64(g, BLOCK), 0, NULL);
    LLVMValueRef in = element_at(g, p, from, gen_i64(g, 0), k.i);
    LLVMValueRef out = gen_address(g, to, gen_scale(g, k.i, 4 * p->width));
    for (int64_t i = 0; i < p->width; i += BLOCK)
        pack_block(g, p, in, out, i);
    loop_end(g, &k, NULL);
    pack_single(g, p, from, to, whole, gen_i64(g, p->width));
}

static void pack_full(const Gen *g, const Pack *p, LLVMValueRef from,
                      LLVMValueRef to)
{
    if (p->order == PACK_WIDTH)
        pack_rows(g, p, from, to);
    else if (p->order == PACK_K)
        pack_transposed(g, p, from, to);
    else
        pack_single(g, p, from, to, gen_i64(g, 0), gen_i64(g, p->width));
}

static void write_pack(Gen *g, Pack *p)
{
    if (p->order == PACK_WIDTH)
        p->stride_n = gen_i64(g, 1);
    if (p->order == PACK_K)
        p->stride_k = gen_i64(g, 1);
    Loop l;
    Branch b;
    loop_begin(g, &l, gen_i64(g, 0), p->n, gen_i64(g, p->width), 0, NULL);
    LLVMValueRef from = element_at(g, p, p->from, l.i, gen_i64(g, 0));
    LLVMValueRef to =
        gen_address(g, p->to, gen_scale(g, gen_mul(g, l.i, p->k), 4));
    LLVMValueRef left = gen_sub(g, p->n, l.i);
    LLVMValueRef full =
        LLVMBuildICmp(g->b, LLVMIntSGE, left, gen_i64(g, p->width), "");
    branch_if(g, &b, full);
    pack_full(g, p, from, to);
    branch_else(g, &b);
    pack_single(g, p, from, to, gen_i64(g, 0), left);
    branch_end(g, &b);
    loop_end(g, &l, NULL);
    gen_return(g);
}

LLVMValueRef gemm_pack_function(Gen *g, DType t, int width, PackOrder order)
{
    char name[64];
    LLVMValueRef f;
    snprintf(name, sizeof name, "pack_%s_%d_%d", dtype_name[t], width,
             (int)order);
    if (!gen_function(g, name, "ppiiii", &f))
        return f;
    Pack p = {
        .dtype = t,
        .width = width,
        .order = order,
        .from = LLVMGetParam(f, 0),
        .to = LLVMGetParam(f, 1),
        .n = LLVMGetParam(f, 2),
        .k = LLVMGetParam(f, 3),
        .stride_n = LLVMGetParam(f, 4),
        .stride_k = LLVMGetParam(f, 5),
    };
    write_pack(g, &p);
    return f;
}
