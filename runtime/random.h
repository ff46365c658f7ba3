// Random numbers that are a function of a key and a number, without state:
// Philox4x32-10 (Salmon et al., Parallel random numbers: as easy as 1, 2, 3,
// 2011). Whoever makes a part of a tensor gets the numbers of the whole.
#pragma once

#include <stdint.h>

// The stream of a seed and of a name in it.
typedef struct RtStream {
    uint64_t seed;
    uint64_t name; // rt_hash
} RtStream;

// FNV-1a, of the bytes of a text.
uint64_t rt_hash(const char *text);

void rt_philox(const uint32_t counter[4], const uint32_t key[2],
               uint32_t out[4]);
// Number `index` of a stream: 64 random bits.
uint64_t rt_random(RtStream s, uint64_t index);
// The same, in (0, 1): the middles of 2^52 equal intervals.
double rt_uniform(RtStream s, uint64_t index);

// The normal distribution's inverse: Wichura, algorithm AS 241 (PPND16), good
// to 1e-16.
double rt_normal_quantile(double p);
