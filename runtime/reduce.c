// The loops are written once, over constants: `how` and `n` are known where a
// function is inlined, so each use becomes a vector loop of its own; and all of
// them twice, for the vectors that every x86-64 has and for AVX2.
#include "runtime/reduce.h"

#include <string.h>

#define INLINE static inline __attribute__((always_inline))

enum {
    SOURCES = 4,        // read in one pass
    CHUNK_BYTES = 2048, // whose sums are kept in L1 between passes
    CHUNK = CHUNK_BYTES / 4,
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
INLINE void one_pass(Part part, RtCombine how, bool more, int n, RtSources s,
                     int64_t count, float *restrict sum)
{
    const char *a = s.at[0] + s.offset, *b = n > 1 ? s.at[1] + s.offset : a;
    const char *c = n > 2 ? s.at[2] + s.offset : a;
    const char *d = n > 3 ? s.at[3] + s.offset : a;
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
INLINE void pass(Part part, RtCombine how, bool more, RtSources s,
                 int64_t count, float *restrict sum)
{
    if (s.n == 4)
        one_pass(part, how, more, 4, s, count, sum);
    else if (s.n == 3)
        one_pass(part, how, more, 3, s, count, sum);
    else if (s.n == 2)
        one_pass(part, how, more, 2, s, count, sum);
    else
        one_pass(part, how, more, 1, s, count, sum);
}

// sum = all of them, in order.
INLINE void add_all(Part part, RtCombine how, RtSources s, int64_t count,
                    float *restrict sum)
{
    int left = s.n;
    s.n = left < SOURCES ? left : SOURCES;
    pass(part, how, false, s, count, sum);
    while ((left -= s.n) > 0) {
        s.at += s.n;
        s.n = left < SOURCES ? left : SOURCES;
        pass(part, how, true, s, count, sum);
    }
}

INLINE int64_t chunk_at(int64_t at, int64_t bytes)
{
    return bytes - at < CHUNK_BYTES ? bytes - at : CHUNK_BYTES;
}

INLINE void reduce_f32(RtCombine how, RtSources s, char *result, int64_t bytes)
{
    for (int64_t at = 0; at < bytes; at += CHUNK_BYTES) {
        float *sum = (void *)(result + at);
        add_all(F32, how, s, chunk_at(at, bytes) / 4, sum);
        s.offset += CHUNK_BYTES;
    }
}

// An entry that is no half of a word.
INLINE void reduce_last(RtCombine how, RtSources s, char *result)
{
    float sum = 0;
    for (int k = 0; k < s.n; k++) {
        uint32_t word = 0;
        memcpy(&word, s.at[k] + s.offset, 2);
        float f = part_of(LOW_BF16, word);
        sum = k ? combine_f32(how, sum, f) : f;
    }
    uint16_t rounded = (uint16_t)(round_bf16(sum) >> 16);
    memcpy(result, &rounded, 2);
}

INLINE void reduce_bf16(RtCombine how, RtSources s, char *result, int64_t bytes)
{
    float low[CHUNK], high[CHUNK];
    uint32_t out[CHUNK];
    int64_t words = bytes / 4 * 4;
    RtSources last = s;
    last.offset += words;
    for (int64_t at = 0; at < words; at += CHUNK_BYTES) {
        int64_t count = chunk_at(at, words) / 4;
        add_all(LOW_BF16, how, s, count, low);
        add_all(HIGH_BF16, how, s, count, high);
        for (int64_t i = 0; i < count; i++)
            out[i] =
                round_bf16(low[i]) >> 16 | (round_bf16(high[i]) & 0xffff0000u);
        memcpy(result + at, out, (size_t)count * 4);
        s.offset += CHUNK_BYTES;
    }
    if (words < bytes)
        reduce_last(how, last, result + words);
}

INLINE void reduce_i32(RtCombine how, RtSources s, char *result, int64_t bytes)
{
    int32_t *out = (void *)result;
    memcpy(out, s.at[0] + s.offset, (size_t)bytes);
    for (int k = 1; k < s.n; k++) {
        const int32_t *from = (const void *)(s.at[k] + s.offset);
        for (int64_t i = 0; i < bytes / 4; i++)
            out[i] = combine_i32(how, out[i], from[i]);
    }
}

// A sum of truth values is true if one of them is; so is their largest.
INLINE void reduce_bool(RtCombine how, RtSources s, char *out, int64_t bytes)
{
    memcpy(out, s.at[0] + s.offset, (size_t)bytes);
    for (int k = 1; k < s.n; k++) {
        const char *from = s.at[k] + s.offset;
        for (int64_t i = 0; i < bytes; i++)
            out[i] = how == RT_MIN ? out[i] & from[i] : out[i] | from[i];
    }
}

INLINE void reduce_how(RtDType dtype, RtCombine how, RtSources s, char *result,
                       int64_t bytes)
{
    if (dtype == RT_f32)
        reduce_f32(how, s, result, bytes);
    else if (dtype == RT_bf16)
        reduce_bf16(how, s, result, bytes);
    else if (dtype == RT_i32)
        reduce_i32(how, s, result, bytes);
    else
        reduce_bool(how, s, result, bytes);
}

INLINE void reduce(RtDType dtype, RtCombine how, RtSources s, char *result,
                   int64_t bytes)
{
    if (how == RT_SUM)
        reduce_how(dtype, RT_SUM, s, result, bytes);
    else if (how == RT_MAX)
        reduce_how(dtype, RT_MAX, s, result, bytes);
    else
        reduce_how(dtype, RT_MIN, s, result, bytes);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void
reduce_avx2(RtDType dtype, RtCombine how, RtSources s, char *result,
            int64_t bytes)
{
    reduce(dtype, how, s, result, bytes);
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

void rt_reduce(RtDType dtype, RtCombine how, RtSources s, char *result,
               int64_t bytes)
{
    if (has_avx2())
        reduce_avx2(dtype, how, s, result, bytes);
    else
        reduce(dtype, how, s, result, bytes);
}
