// Matrix products: C[m, n] (+)= sum over k of A[m, k] B[k, n], f32 sums.
//
// After Goto and van de Geijn (2008): blocks of A and B are packed into panels
// (which also transposes and converts), and a generated kernel keeps a tile of
// C in registers. Sizes and strides are arguments, so one function serves all
// products that read and store alike.
#pragma once

#include "emit/gemm_size.h"
#include "emit/gen.h"

// Along what an operand lies dense in memory: along the panel's width (m or
// n), along k, or neither.
typedef enum PackOrder {
    PACK_WIDTH,
    PACK_K,
    PACK_ANY,
} PackOrder;

// The part of the result that is ready: `rows` x `columns` sums from (row,
// column) on, at `sums`, gen_tile_columns() apart.
typedef struct Tile {
    LLVMValueRef sums;
    LLVMValueRef row, column;
    LLVMValueRef rows, columns;
} Tile;

// What to do with finished sums, unless they are in C.
typedef struct GemmEnd {
    const char *name; // tells ends apart
    void (*store)(Gen *g, void *context, const LLVMValueRef extra[],
                  const Tile *t);
    // Calls for the memory that `store` will touch, before the last product.
    void (*prefetch)(Gen *g, void *context, const LLVMValueRef extra[],
                     const Tile *t);
    void *context;
    const char *extra; // more parameters, as for gen_function
} GemmEnd;

typedef struct GemmKind {
    DType a, b;
    PackOrder a_order, b_order;
    GemmSums sums;
    GemmEnd end;
} GemmKind;

// Parameters of the function, in this order; then the end's own ones. Strides
// are in elements. first: sums are overwritten, not added to; last: they are
// complete after this call. Sums that wait do so over several calls only if m
// and n are no larger than a block of them.
enum {
    GEMM_a,
    GEMM_b,
    GEMM_c,
    GEMM_scratch,
    GEMM_m,
    GEMM_n,
    GEMM_k,
    GEMM_a_m,
    GEMM_a_k,
    GEMM_b_k,
    GEMM_b_n,
    GEMM_c_m,
    GEMM_first,
    GEMM_last,
    GEMM_NPARAM,
    GEMM_EXTRA = 64, // at most, of the end's
};

int gen_tile_columns(const Gen *g);
int64_t gen_tile_pitch(const Gen *g); // bytes between rows of a tile of sums
// The function of a kind; made at its first use.
LLVMValueRef gemm_function(Gen *g, const GemmKind *kind);

// tile(k, a, b, c, bytes between rows of c, add): c (+)= a panel product.
LLVMValueRef gemm_tile_function(Gen *g);
// pack(from, to, n, k, stride of n, stride of k): panels of `width` of n,
// [panel][k][width], zeros where the last one is not full.
LLVMValueRef gemm_pack_function(Gen *g, DType t, int width, PackOrder order);
