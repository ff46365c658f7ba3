// The loops are written once, over constants: `how` and `n` are known where a
// function is inlined, so each use becomes a vector loop of its own; and all of
// them twice, for the vectors that every x86-64 has and for AVX2.
#include "runtime/reduce.h"

#include <string.h>

#define INLINE static inline __attribute__((always_inline))

enum {
    SOURCES = 4, // read in one pass
    CHUNK = 512, // words whose sums are kept in f32 between passes
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

// What a word of memory holds: a f32, or two bf16, of which one is meant. So
// both types go through the same loops, without moves between lanes.
typedef enum Part {
    F32,
    LOW_BF16,
    HIGH_BF16,
} Part;

INLINE uint32_t word_at(const char *s, int64_t i)
{
    uint32_t word;
    memcpy(&word, s + i * 4, sizeof word);
    return word;
}

INLINE float part_of(Part part, uint32_t word)
{
    if (part == LOW_BF16)
        word <<= 16;
    if (part == HIGH_BF16)
        word &= 0xffff0000u;
    float f;
    memcpy(&f, &word, sizeof f);
    return f;
}

// To nearest even; a NaN stays one. The result's low half is not meant.
INLINE uint32_t round_bf16(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    uint32_t rounded = bits + 0x7fff + (bits >> 16 & 1);
    return f != f ? bits | 0x400000 : rounded;
}

// sum = s[0] (how) ... (how) s[n - 1], after what is there if `more`.
INLINE void one_pass(Part part, RtCombine how, bool more, int n,
                     const char *const s[], int64_t offset, int64_t count,
                     float *restrict sum)
{
    const char *a = s[0] + offset, *b = n > 1 ? s[1] + offset : a;
    const char *c = n > 2 ? s[2] + offset : a, *d = n > 3 ? s[3] + offset : a;
    for (int64_t i = 0; i < count; i++) {
        float v = part_of(part, word_at(a, i));
        if (more)
            v = combine_f32(how, sum[i], v);
        if (n > 1)
            v = combine_f32(how, v, part_of(part, word_at(b, i)));
        if (n > 2)
            v = combine_f32(how, v, part_of(part, word_at(c, i)));
        if (n > 3)
            v = combine_f32(how, v, part_of(part, word_at(d, i)));
        sum[i] = v;
    }
}

// For up to SOURCES.
INLINE void pass(Part part, RtCombine how, bool more, int n,
                 const char *const s[], int64_t offset, int64_t count,
                 float *restrict sum)
{
    if (n == 4)
        one_pass(part, how, more, 4, s, offset, count, sum);
    else if (n == 3)
        one_pass(part, how, more, 3, s, offset, count, sum);
    else if (n == 2)
        one_pass(part, how, more, 2, s, offset, count, sum);
    else
        one_pass(part, how, more, 1, s, offset, count, sum);
}

INLINE void add_all(Part part, RtCombine how, const char *const s[], int n,
                    int64_t offset, int64_t count, float *restrict sum)
{
    int first = n < SOURCES ? n : SOURCES;
    pass(part, how, false, first, s, offset, count, sum);
    for (int k = first; k < n; k += SOURCES) {
        int here = n - k < SOURCES ? n - k : SOURCES;
        pass(part, how, true, here, s + k, offset, count, sum);
    }
}

// By chunks, so that the sums stay in L1 between passes.
INLINE void reduce_f32(RtCombine how, const char *const source[], int n,
                       int64_t offset, char *result, int64_t bytes)
{
    for (int64_t at = 0; at < bytes; at += CHUNK * 4) {
        int64_t count = bytes - at < CHUNK * 4 ? (bytes - at) / 4 : CHUNK;
        float *sum = (void *)(result + at);
        add_all(F32, how, source, n, offset + at, count, sum);
    }
}

// An entry that is no half of a word.
INLINE void reduce_last(RtCombine how, const char *const source[], int n,
                        int64_t offset, char *result)
{
    float sum = 0;
    for (int k = 0; k < n; k++) {
        uint32_t word = 0;
        memcpy(&word, source[k] + offset, 2);
        float f = part_of(LOW_BF16, word);
        sum = k ? combine_f32(how, sum, f) : f;
    }
    uint16_t rounded = (uint16_t)(round_bf16(sum) >> 16);
    memcpy(result, &rounded, 2);
}

INLINE void reduce_bf16(RtCombine how, const char *const source[], int n,
                        int64_t offset, char *result, int64_t bytes)
{
    float low[CHUNK], high[CHUNK];
    uint32_t out[CHUNK];
    int64_t words = bytes / 4 * 4;
    for (int64_t at = 0; at < words; at += CHUNK * 4) {
        int64_t count = words - at < CHUNK * 4 ? (words - at) / 4 : CHUNK;
        add_all(LOW_BF16, how, source, n, offset + at, count, low);
        add_all(HIGH_BF16, how, source, n, offset + at, count, high);
        for (int64_t i = 0; i < count; i++)
            out[i] =
                round_bf16(low[i]) >> 16 | (round_bf16(high[i]) & 0xffff0000u);
        memcpy(result + at, out, (size_t)count * 4);
    }
    if (words < bytes)
        reduce_last(how, source, n, offset + words, result + words);
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
