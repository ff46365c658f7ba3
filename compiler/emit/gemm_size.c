#include "emit/gemm_size.h"

int64_t round_up(int64_t n, int64_t unit)
{
    return (n + unit - 1) / unit * unit;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

// Tiles are 6 x 16 or 12 x 32.
int64_t gemm_scratch(int64_t m, int64_t n, int64_t k, GemmSums sums)
{
    int64_t kc = least(k, GEMM_KC);
    int64_t columns = sums == SUMS_WAIT ? GEMM_WAIT_N : GEMM_NC;
    int64_t nc = round_up(least(n, columns), 32);
    int64_t bytes = round_up(round_up(least(m, GEMM_MC), 12) * kc * 4, 64) +
                    round_up(nc * kc * 4, 64);
    if (sums == SUMS_WAIT)
        bytes += round_up(least(m, GEMM_WAIT_M), 12) * nc * 4;
    return bytes;
}
