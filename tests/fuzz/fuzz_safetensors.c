// The reader of safetensors headers, on anything at all.
#include <stdlib.h>
#include <string.h>

#include "runtime/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// What a parsed file promises.
static void check(const SafeFile *f, const char *end)
{
    volatile char sink = 0;
    for (int i = 0; i < f->ntensor; i++) {
        const SafeTensor *t = &f->tensor[i];
        if (t->begin > t->end || f->data + t->end > end ||
            safetensors_find(f, t->name) != t)
            abort();
        if (t->begin < t->end)
            sink ^= f->data[t->begin] ^ f->data[t->end - 1];
    }
}

static void parse(const char *bytes, size_t size)
{
    static FILE *nowhere;
    if (!nowhere)
        nowhere = fopen("/dev/null", "w");
    SafeFile f;
    if (!safetensors_parse("f", bytes, size, nowhere, &f))
        return;
    check(&f, bytes + size);
    safetensors_close(&f);
}

// The input as a file; and as a header up to a newline, then data, with the
// length that belongs there, which mutations would hardly ever find.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    parse((const char *)data, size);
    const uint8_t *newline = size ? memchr(data, '\n', size) : NULL;
    if (!newline)
        return 0;
    uint64_t length = (uint64_t)(newline - data);
    char *file = malloc(sizeof length + size - 1);
    memcpy(file, &length, sizeof length);
    memcpy(file + sizeof length, data, length);
    memcpy(file + sizeof length + length, newline + 1, size - length - 1);
    parse(file, sizeof length + size - 1);
    free(file);
    return 0;
}
