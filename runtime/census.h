// The executable's own count of its memory.
//
// Segments are filled with a pattern before anything is in them; what differs
// afterwards was written. The last bytes of floats are sign and exponent, which
// no number near 1 has as the pattern has them.
#pragma once

#include "runtime/tensors.h"

// A device's segments, instead of only bringing their pages in.
void census_fill(const RtMemory *m, const RtProgram *p, int64_t device);
// The highest byte written of each, if it is higher than what is known.
void census_measure(const RtMemory *m, const RtProgram *p, int64_t device,
                    _Atomic int64_t used[2]);
// TSV: class, bytes of one device.
bool census_write(const RtProgram *p, const _Atomic int64_t used[2],
                  const char *path, FILE *message);
