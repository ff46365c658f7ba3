// The loops are written once, over constants: `how` and `n` are known where a
// function is inlined, so each use becomes a vector loop of its own; and all of
// them twice, for the vectors that every x86-64 has and for AVX2.
#include "runtime/reduce.h"

#include <string.h>

#define INLINE static inline __attribute__((always_inline))

enum {
    SOURCES = 4, // read in one pass
    CHUNK = 512, // bf16 entries that are kept in f32 between passes
};

// max and min give NaN if either is one, as StableHLO has it.
INLINE float combine_f32(RtCombine how, float a, float b)
{
    if (how == RT_SUM)
        return a + b;
    float best = how == RT_MAX ? (b > a ? b : a) : (b < a ? b : a);
    return b != b ? b : best;
}

INLINE int32_t combine_i32(RtCombine how, int32_t a, int32_t b)
{
    if (how == RT_SUM)
        return (int32_t)((uint32_t)a + (uint32_t)b);
    return (how == RT_MAX ? b > a : b < a) ? b : a;
}

INLINE float from_bf16(uint16_t x)
{
    uint32_t bits = (uint32_t)x << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

// To nearest even; a NaN stays one.
INLINE uint16_t to_bf16(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    uint32_t nan = bits >> 16 | 0x40;
    return (uint16_t)(f != f ? nan : rounded);
}

// out = s[0] (how) ... (how) s[n - 1]; out may be s[0] itself.
INLINE void pass_f32(RtCombine how, int n, const float *const s[], float *out,
                     int64_t count)
{
    const float *a = s[0], *b = s[1], *c = s[2], *d = s[3];
#pragma GCC ivdep
    for (int64_t i = 0; i < count; i++) {
        float v = a[i];
        if (n > 1)
            v = combine_f32(how, v, b[i]);
        if (n > 2)
            v = combine_f32(how, v, c[i]);
        if (n > 3)
            v = combine_f32(how, v, d[i]);
        out[i] = v;
    }
}

INLINE void reduce_f32(RtCombine how, const char *const source[], int n,
                       int64_t offset, char *result, int64_t bytes)
{
    float *out = (void *)result;
    int64_t count = bytes / 4;
    int taken = 0;
    while (taken < n) {
        const float *s[SOURCES] = {out, out, out, out};
        int here = taken > 0;
        for (; here < SOURCES && taken < n; here++, taken++)
            s[here] = (const void *)(source[taken] + offset);
        if (here == 4)
            pass_f32(how, 4, s, out, count);
        else if (here == 3)
            pass_f32(how, 3, s, out, count);
        else if (here == 2)
            pass_f32(how, 2, s, out, count);
        else
            pass_f32(how, 1, s, out, count);
    }
}

INLINE void reduce_bf16(RtCombine how, const char *const source[], int n,
                        int64_t offset, char *result, int64_t bytes)
{
    uint16_t *out = (void *)result;
    float sum[CHUNK];
    int64_t count = bytes / 2;
    for (int64_t at = 0; at < count; at += CHUNK) {
        int64_t here = count - at < CHUNK ? count - at : CHUNK;
        const uint16_t *first = (const void *)(source[0] + offset);
        for (int64_t i = 0; i < here; i++)
            sum[i] = from_bf16(first[at + i]);
        for (int k = 1; k < n; k++) {
            const uint16_t *s = (const void *)(source[k] + offset);
            for (int64_t i = 0; i < here; i++)
                sum[i] = combine_f32(how, sum[i], from_bf16(s[at + i]));
        }
        for (int64_t i = 0; i < here; i++)
            out[at + i] = to_bf16(sum[i]);
    }
}

INLINE void reduce_i32(RtCombine how, const char *const source[], int n,
                       int64_t offset, char *result, int64_t bytes)
{
    int32_t *out = (void *)result;
    memcpy(out, source[0] + offset, (size_t)bytes);
    for (int k = 1; k < n; k++) {
        const int32_t *s = (const void *)(source[k] + offset);
        for (int64_t i = 0; i < bytes / 4; i++)
            out[i] = combine_i32(how, out[i], s[i]);
    }
}

// A sum of truth values is true if one of them is; so is their largest.
INLINE void reduce_bool(RtCombine how, const char *const source[], int n,
                        int64_t offset, char *result, int64_t bytes)
{
    memcpy(result, source[0] + offset, (size_t)bytes);
    for (int k = 1; k < n; k++) {
        const char *s = source[k] + offset;
        for (int64_t i = 0; i < bytes; i++)
            result[i] = how == RT_MIN ? result[i] & s[i] : result[i] | s[i];
    }
}

INLINE void reduce_how(RtDType dtype, RtCombine how, const char *const source[],
                       int n, int64_t offset, char *result, int64_t bytes)
{
    if (dtype == RT_f32)
        reduce_f32(how, source, n, offset, result, bytes);
    else if (dtype == RT_bf16)
        reduce_bf16(how, source, n, offset, result, bytes);
    else if (dtype == RT_i32)
        reduce_i32(how, source, n, offset, result, bytes);
    else
        reduce_bool(how, source, n, offset, result, bytes);
}

INLINE void reduce(RtDType dtype, RtCombine how, const char *const source[],
                   int n, int64_t offset, char *result, int64_t bytes)
{
    if (how == RT_SUM)
        reduce_how(dtype, RT_SUM, source, n, offset, result, bytes);
    else if (how == RT_MAX)
        reduce_how(dtype, RT_MAX, source, n, offset, result, bytes);
    else
        reduce_how(dtype, RT_MIN, source, n, offset, result, bytes);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void
reduce_avx2(RtDType dtype, RtCombine how, const char *const source[], int n,
            int64_t offset, char *result, int64_t bytes)
{
    reduce(dtype, how, source, n, offset, result, bytes);
}

static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2");
}
#else
static bool has_avx2(void)
{
    return false;
}

#define reduce_avx2 reduce
#endif

void rt_reduce(RtDType dtype, RtCombine how, const char *const source[], int n,
               int64_t offset, char *result, int64_t bytes)
{
    if (has_avx2())
        reduce_avx2(dtype, how, source, n, offset, result, bytes);
    else
        reduce(dtype, how, source, n, offset, result, bytes);
}
