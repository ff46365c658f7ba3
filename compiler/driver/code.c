#include "driver/code.h"

#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#include "pass/partition.h"

void driver_fail(Driver *d, const char *error)
{
    diag_error(&d->diag, (Span){0}, "%s", error ? error : "unknown failure");
}

const char *find_beside(Arena *a, const char *built, const char *installed)
{
    char exe[4096];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    exe[n < 0 ? 0 : n] = '\0';
    char *slash = strrchr(exe, '/');
    if (slash)
        *slash = '\0';
    const char *path = arena_printf(a, "%s/%s", exe, built);
    return access(path, R_OK) == 0 ? path
                                   : arena_printf(a, "%s/%s", exe, installed);
}

// What SHARDED knows of an entry's params or results and LOCAL does not.
static Placed *placed_of(Driver *d, const Func *f, Op *const op[],
                         const char *const name[], int n)
{
    Placed *p = arena_new(&d->arena, Placed, (size_t)n + 1);
    for (int i = 0; i < n; i++) {
        p[i].name = name ? name[i] : op[i]->name;
        p[i].type = op[i]->type;
        p[i].sharding = op[i]->sharding;
        p[i].limit = name ? 0 : param_limit(f, op[i]);
    }
    return p;
}

Plan *build_plan(Driver *d, const Built *b)
{
    const Func *f = module_entry(b->sharded);
    TensorPlacement placement = {
        .param = placed_of(d, f, f->ops.at, NULL, f->nparam),
        .result =
            placed_of(d, f, f->results.at, f->result_names.at, f->results.n),
        .stores_all = d->o.debug_nan,
    };
    return plan_module(&d->arena, b->local, &placement);
}

// Fills in the functions; false if one is missing.
static bool find_functions(void *library, Emitter *e)
{
    const struct {
        const char *name;
        void *at;
    } functions[] = {
        {"emit_code", &e->code},     {"emit_free", &e->free_code},
        {"emit_llvm", &e->llvm},     {"emit_asm", &e->assembly},
        {"emit_object", &e->object}, {"jit_load", &e->load},
        {"jit_free", &e->unload},
    };
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        void *symbol = dlsym(library, functions[i].name);
        if (!symbol)
            return false;
        memcpy(functions[i].at, &symbol, sizeof symbol);
    }
    return true;
}

bool build_code(Driver *d, const Built *b, Emitter *e, Code **out)
{
    const char *path = find_beside(&d->arena, "libshardc_emit.so",
                                   "../lib/shardc/libshardc_emit.so");
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library || !find_functions(library, e)) {
        driver_fail(d, dlerror());
        return false;
    }
    char *error = NULL;
    *out = e->code(&d->arena, build_plan(d, b),
                   b->is_step ? "shardc_step" : "shardc", &error);
    if (!*out)
        driver_fail(d, error);
    return *out != NULL;
}
