#include "base/text.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

const char *bytes_text(char out[BYTES_TEXT], double bytes)
{
    static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    int u = 0;
    for (; bytes >= 1024 && u < 4; u++)
        bytes /= 1024;
    bool is_whole = bytes == (double)(int64_t)bytes;
    snprintf(out, BYTES_TEXT, "%.*f %s", is_whole ? 0 : 1, bytes, unit[u]);
    return out;
}

char *count_string(Arena *a, int64_t n)
{
    char *digits = arena_printf(a, "%ld", (long)n);
    size_t len = strlen(digits), k = 0;
    char *out = arena_new(a, char, 2 * len + 1);
    for (size_t i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0)
            out[k++] = ',';
        out[k++] = digits[i];
    }
    return out;
}
