// Numbers as people read them.
#pragma once

#include <stdint.h>

#include "base/arena.h"

enum {
    BYTES_TEXT = 24,
};

// 896 B, 1.8 MiB, 6.5 GiB: written into `out`, which is returned.
const char *bytes_text(char out[BYTES_TEXT], double bytes);
// 671,026,419,200
char *count_string(Arena *a, int64_t n);
