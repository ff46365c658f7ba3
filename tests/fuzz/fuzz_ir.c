// The IR's text, on anything at all: a text is read or refused, what the
// verifier lets pass is printed and read back the same, and small GLOBAL
// modules go through the passes, which may refuse them too.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "pass/pass.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    MOST_ELEMENTS = 100000,
    MOST_DEVICES = 64,
    MOST_OPS = 200,
};

static bool is_small_type(const Type *t)
{
    int64_t n = 1;
    for (int i = 0; i < t->rank; i++) {
        if (t->dim[i] > MOST_ELEMENTS)
            return false;
        n *= t->dim[i] ? t->dim[i] : 1;
        if (n > MOST_ELEMENTS)
            return false;
    }
    return true;
}

static bool is_small(const Module *m)
{
    int nop = 0;
    for (int i = 0; i < m->funcs.n; i++) {
        for_each_op (op, m->funcs.at[i]) {
            if (!is_small_type(&op->type))
                return false;
            nop++;
        }
    }
    return m->mesh.ndevice <= MOST_DEVICES && nop <= MOST_OPS;
}

static void print_and_parse(Arena *a, const Module *m, Diag *d)
{
    Source *source = arena_new(a, Source, 1);
    *source = (Source){"printed.ir", module_string(a, m)};
    Module *again = module_parse(a, source, d);
    if (!again || strcmp(source->text, module_string(a, again)) != 0)
        abort();
}

// A pass may refuse a module; what it makes must be sound.
static void run_passes(Arena *a, Module *m, Diag *d, bool uneven)
{
    static PassFn *const passes[] = {pass_propagate, pass_reshard,
                                     pass_partition, pass_dce};
    PassContext c = {.arena = a, .diag = d, .uneven_pad = uneven};
    for (int i = 0; m && i < 4; i++) {
        m = passes[i](&c, m);
        if (m && !module_verify(m, d))
            abort();
        if (m)
            print_and_parse(a, m, d);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *nowhere;
    if (!nowhere)
        nowhere = fopen("/dev/null", "w");
    Arena a = {0};
    Diag d = {.out = nowhere};
    Source s = {"fuzz.ir", arena_strndup(&a, (const char *)data, size)};
    Module *m = module_parse(&a, &s, &d);
    if (m && module_verify(m, &d)) {
        print_and_parse(&a, m, &d);
        if (m->form == FORM_global && is_small(m))
            run_passes(&a, m, &d, size % 2);
    }
    arena_free(&a);
    return 0;
}
