// Inner loops of reductions: n sources, combined in order, into one result.
#pragma once

#include "runtime/program.h"

// Entries at `offset` bytes of each source; `bytes` is a multiple of the entry.
// bf16 is combined in f32 and rounded once, to nearest even. The result must
// not overlap a source.
void rt_reduce(RtDType dtype, RtCombine how, const char *const source[], int n,
               int64_t offset, char *result, int64_t bytes);
