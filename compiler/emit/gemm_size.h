// The blocks of matrix products, and the memory they need.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
    GEMM_KC = 384,  // a panel of B, 24 KiB, stays in L1
    GEMM_MC = 144,  // a block of A, 216 KiB, stays in L2
    GEMM_NC = 4032, // a block of B, 6 MiB, stays in L3
};

int64_t round_up(int64_t n, int64_t unit);
// Bytes of scratch: panels, and with an end the sums of all m rows. Enough for
// every target.
int64_t gemm_scratch(int64_t m, int64_t n, int64_t k, bool has_end);
