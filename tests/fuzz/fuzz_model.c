// The model language, on anything at all: a text is read or refused; what is
// read can be formatted, and formatting again changes nothing; what it means is
// a module that verifies, or is refused.
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

// Elaborates on four devices, by the text's own first config and rules.
static void elaborate(Arena *a, const Program *p, Diag *d)
{
    static const char *const no_sets[] = {NULL};
    BuildOptions o = {.sets = no_sets, .uneven_pad = true};
    if (p->configs.n)
        o.config = p->configs.at[0].name.s;
    if (p->rules.n)
        o.rules = rules_find(a, p, p->rules.at[0].name.s, d);
    mesh_add_axis(&o.mesh, "fsdp", 2);
    mesh_add_axis(&o.mesh, "tensor", 2);
    Module *m = frontend_build(a, p, &o, d);
    if (m && !module_verify(m, d))
        abort();
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
    Program *p = program_parse(&a, &s, &d);
    if (p)
        elaborate(&a, p, &d);
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
