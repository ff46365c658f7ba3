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
int64_t gemm_scratch(int64_t m, int64_t n, int64_t k, bool has_end)
{
    int64_t kc = least(k, GEMM_KC), nc = round_up(least(n, GEMM_NC), 32);
    int64_t bytes = round_up(round_up(least(m, GEMM_MC), 12) * kc * 4, 64) +
                    round_up(nc * kc * 4, 64);
    return has_end ? bytes + round_up(m, 12) * nc * 4 : bytes;
}
