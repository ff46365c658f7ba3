// Shared by the files that write attention's code.
#pragma once

#include <float.h>

#include "emit/attention.h"
#include "emit/kernel.h"

enum {
    OUT,
    Q,
    K,
    V,
    SEG_Q,
    SEG_K,
    FIRST, // the place of the first query in its row
};

static const double masked = -0.7 * FLT_MAX; // the score of a masked key

typedef struct Attention {
    KernelCode *c;
    Gen *g;
    AttentionScratch at;
    int64_t s, t, d, v; // sizes
    bool is_causal;
    LLVMValueRef p[FIRST]; // of one head
    LLVMValueRef q0, nq;   // the block of queries
    LLVMValueRef t0, nt;   // the block of keys
    LLVMValueRef lowest;   // memory: the least maximum of the block's rows
} Attention;

// Addresses in the op's scratch: a part, and row i of one.
LLVMValueRef attention_part(const Attention *a, int64_t at);
LLVMValueRef attention_row(const Attention *a, int64_t at, LLVMValueRef i,
                           int64_t pitch);
// Masks the scores of a block and turns them into weights; keeps the maximum
// and the total of each row, and scales the sums of earlier blocks.
void softmax_block(const Attention *a);
