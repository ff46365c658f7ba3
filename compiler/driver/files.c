#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "driver/driver.h"

enum {
    MAX_SOURCE = 64 << 20, // bytes
};

static void fail(Driver *d, const char *path, const char *what)
{
    Source *s = arena_new(&d->arena, Source, 1);
    s->name = path;
    diag_error(&d->diag, (Span){.source = s}, "%s", what);
}

// All of a stream, NUL-terminated; NULL if it is too long or a read failed.
static char *read_all(Arena *a, FILE *f, size_t *n)
{
    size_t cap = 1 << 16;
    char *text = malloc(cap);
    *n = 0;
    while (text && (*n += fread(text + *n, 1, cap - 1 - *n, f)) == cap - 1 &&
           cap < MAX_SOURCE) {
        cap *= 2;
        char *more = realloc(text, cap);
        if (!more)
            free(text);
        text = more;
    }
    bool ok = text && !ferror(f) && feof(f);
    char *copy = ok ? arena_strndup(a, text, *n) : NULL;
    free(text);
    return copy;
}

const Source *read_source(Driver *d, const char *path)
{
    bool is_stdin = strcmp(path, "-") == 0;
    FILE *f = is_stdin ? stdin : fopen(path, "r");
    if (!f) {
        fail(d, path, strerror(errno));
        return NULL;
    }
    size_t n;
    errno = 0;
    char *text = read_all(&d->arena, f, &n);
    int error = errno;
    if (!is_stdin)
        fclose(f);
    if (!text)
        fail(d, path, error ? strerror(error) : "too long");
    else if (strlen(text) != n)
        fail(d, path, "not a text: it has a NUL byte");
    if (!text || strlen(text) != n)
        return NULL;
    Source *s = arena_new(&d->arena, Source, 1);
    *s = (Source){is_stdin ? "<stdin>" : path, text};
    return s;
}

FILE *open_output(Driver *d)
{
    const char *path = d->o.output;
    if (!path || strcmp(path, "-") == 0)
        return stdout;
    FILE *f = fopen(path, "w");
    if (!f)
        fail(d, path, strerror(errno));
    return f;
}

int close_output(Driver *d, FILE *f)
{
    bool bad = fflush(f) != 0 || ferror(f);
    int error = errno;
    if (f != stdout && fclose(f) != 0)
        bad = true;
    if (bad)
        fail(d, f == stdout ? "standard output" : d->o.output,
             error ? strerror(error) : "cannot be written");
    return bad || diag_failed(&d->diag) ? EXIT_DIAGNOSTICS : EXIT_SUCCESS;
}
