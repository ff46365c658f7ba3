// Reading a program: a file, and where it says `include`, that file in its
// place. Each file is read once, so includes may go in circles.
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "frontend/frontend.h"
#include "frontend/parser.h"

enum {
    MAX_FILE = 16 << 20,
    MAX_INCLUDE_DEPTH = 64,
};

typedef struct Loader {
    VEC(const char *) seen; // resolved paths
    int depth;
} Loader;

// The text of a file, with a NUL at its end; NULL, and `why`, if it cannot be
// had.
static char *read_all(Arena *a, FILE *f, size_t *n, const char **why)
{
    size_t size = 64 * 1024;
    char *text = arena_new(a, char, size + 1);
    for (*n = 0;;) {
        *n += fread(text + *n, 1, size - *n, f);
        if (*n < size)
            break;
        if (size >= MAX_FILE) {
            *why = "it is larger than 16 MiB";
            return NULL;
        }
        char *more = arena_new(a, char, 2 * size + 1);
        memcpy(more, text, size);
        text = more;
        size *= 2;
    }
    if (ferror(f))
        *why = strerror(errno);
    return ferror(f) ? NULL : text;
}

// NULL, and an error at the include, if the file cannot be read.
static const Source *read_source(Arena *a, const char *path, Span from, Diag *d)
{
    const char *why = "";
    size_t n = 0;
    FILE *f = fopen(path, "r");
    char *text = f ? read_all(a, f, &n, &why) : NULL;
    if (!f)
        why = strerror(errno);
    else
        fclose(f);
    if (!text) {
        diag_error(d, from, "cannot read %s: %s", path, why);
        return NULL;
    }
    Source *s = arena_new(a, Source, 1);
    *s = (Source){arena_strndup(a, path, strlen(path)), text};
    int end = (int)strlen(text);
    if ((size_t)end < n)
        diag_error(d, (Span){s, end, end + 1},
                   "a NUL byte; the rest of the file is not read");
    return s;
}

// Whether the file was read before; remembers it if not.
static bool seen_before(Arena *a, Loader *l, const char *path)
{
    char real[PATH_MAX];
    if (!realpath(path, real))
        return false; // reading it will say why
    for (int i = 0; i < l->seen.n; i++)
        if (strcmp(l->seen.at[i], real) == 0)
            return true;
    vec_push(a, &l->seen, arena_strndup(a, real, strlen(real)));
    return false;
}

static void include(ModelParser *from, Name path)
{
    Arena *a = from->arena;
    Loader *l = from->loader;
    const char *slash = strrchr(from->source->name, '/');
    int dir =
        slash && path.s[0] != '/' ? (int)(slash + 1 - from->source->name) : 0;
    const char *full =
        arena_printf(a, "%.*s%s", dir, from->source->name, path.s);
    if (l->depth == MAX_INCLUDE_DEPTH) {
        syntax_error(from, path.at, "includes are nested too deeply");
        return;
    }
    if (seen_before(a, l, full))
        return;
    const Source *s = read_source(a, full, path.at, from->diag);
    if (!s)
        return;
    ModelParser *p = arena_new(a, ModelParser, 1);
    *p = (ModelParser){.arena = a,
                       .diag = from->diag,
                       .source = s,
                       .program = from->program,
                       .include = include,
                       .loader = l};
    l->depth++;
    model_read(p);
    l->depth--;
}

Program *program_load(Arena *a, const char *path, Diag *d)
{
    int before = d->nerror;
    Loader loader = {0};
    seen_before(a, &loader, path);
    const Source *s = read_source(a, path, (Span){0}, d);
    if (!s)
        return NULL;
    ModelParser *p = arena_new(a, ModelParser, 1);
    *p = (ModelParser){.arena = a,
                       .diag = d,
                       .source = s,
                       .program = arena_new(a, Program, 1),
                       .include = include,
                       .loader = &loader};
    p->program->arena = a;
    model_read(p);
    check_unique(p->program, d);
    return d->nerror == before ? p->program : NULL;
}

Program *program_parse(Arena *a, const Source *source, Diag *d)
{
    int before = d->nerror;
    ModelParser *p = arena_new(a, ModelParser, 1);
    *p = (ModelParser){.arena = a,
                       .diag = d,
                       .source = source,
                       .program = arena_new(a, Program, 1)};
    p->program->arena = a;
    model_read(p);
    check_unique(p->program, d);
    return d->nerror == before ? p->program : NULL;
}
