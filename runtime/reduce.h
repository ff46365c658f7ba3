// Inner loops of reductions: n sources, combined in order, into one result.
#pragma once

#include "runtime/program.h"

// What is combined: `offset` bytes after each of n places.
typedef struct RtSources {
    const char *const *at;
    int n;
    int64_t offset;
} RtSources;

// `bytes` is a multiple of the entry's. bf16 is combined in f32 and rounded
// once, to nearest even. The result must not overlap a source.
void rt_reduce(RtDType dtype, RtCombine how, RtSources s, char *result,
               int64_t bytes);
