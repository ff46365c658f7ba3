// The model language, on anything at all: a text is read or refused, what is
// read can be formatted, and formatting again changes nothing.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/frontend.h"
#include "frontend/parser.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// The text formatted, from malloc; NULL if it is not a program.
static char *format(Arena *a, const char *text, Diag *d)
{
    char *out;
    size_t n;
    FILE *f = open_memstream(&out, &n);
    Source *s = arena_new(a, Source, 1);
    *s = (Source){"fuzz.shard", text};
    bool ok = fmt_source(a, s, f, d);
    fclose(f);
    if (!ok)
        free(out);
    return ok ? out : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *nowhere;
    if (!nowhere)
        nowhere = fopen("/dev/null", "w");
    Arena a = {0};
    Diag d = {.out = nowhere};
    const char *text = arena_strndup(&a, (const char *)data, size);
    Source s = {"fuzz.shard", text};
    program_parse(&a, &s, &d);
    char *once = format(&a, text, &d);
    if (once) {
        char *twice = format(&a, once, &d);
        if (!twice || strcmp(once, twice) != 0)
            abort();
        free(twice);
    }
    free(once);
    arena_free(&a);
    return 0;
}
