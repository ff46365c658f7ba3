// The blocks of matrix products, and the memory they need.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
    GEMM_KC = 384,  // a panel of B, 24 KiB, stays in L1
    GEMM_MC = 144,  // a block of A, 216 KiB, stays in L2
    GEMM_NC = 4032, // a block of B, 6 MiB, stays in L3
    // Blocks of sums that wait: 4.5 MiB, in L3.
    GEMM_WAIT_M = 1152,
    GEMM_WAIT_N = 1024,
};

// Where sums are until the last k is in.
typedef enum GemmSums {
    SUMS_IN_C,    // C is f32 and wants the sums as they are
    SUMS_IN_TILE, // all k are one block: in a tile
    SUMS_WAIT,    // in scratch
} GemmSums;

int64_t round_up(int64_t n, int64_t unit);
// Bytes of scratch: panels, and sums that wait. Enough for every target.
int64_t gemm_scratch(int64_t m, int64_t n, int64_t k, GemmSums sums);
