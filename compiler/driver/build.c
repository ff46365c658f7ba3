// shardc build: a native executable, or one stage on the way to it.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cost/report.h"
#include "driver/code.h"
#include "driver/dot.h"

// Where the runtime's libraries are: beside the program as it was built, or
// where it is installed.
static const char *runtime_dir(Arena *a)
{
    char exe[4096];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    exe[n < 0 ? 0 : n] = '\0';
    char *slash = strrchr(exe, '/');
    if (slash)
        *slash = '\0';
    const char *built = arena_printf(a, "%s/runtime", exe);
    const char *installed = arena_printf(a, "%s/../lib/shardc", exe);
    const char *probe = arena_printf(a, "%s/libshardc_rt.a", built);
    return access(probe, R_OK) == 0 ? built : installed;
}

// Writes the object to a temporary file and links it.
static int link_output(Driver *d, Code *code)
{
    const char *out = d->o.output;
    char *error = NULL;
    char *object = arena_printf(&d->arena, "%s.XXXXXX.o", out);
    int fd = mkstemps(object, 2);
    if (fd < 0) {
        driver_fail(d, arena_printf(&d->arena, "%s: cannot be written", out));
        return EXIT_DIAGNOSTICS;
    }
    close(fd);
    bool ok = emit_object(code, object, &error) &&
              link_program(&d->arena, object, runtime_dir(&d->arena), out,
                           &error);
    unlink(object);
    if (!ok)
        driver_fail(d, error);
    return ok ? EXIT_SUCCESS : EXIT_DIAGNOSTICS;
}

// Text of a stage that needs no code.
static bool print_stage(const char *what, Driver *d, const Built *b, FILE *f)
{
    if (strcmp(what, "graph") == 0)
        module_print(b->global, f);
    else if (strcmp(what, "sharded") == 0)
        module_print(b->sharded, f);
    else if (strcmp(what, "local") == 0)
        module_print(b->local, f);
    else if (strcmp(what, "collectives") == 0)
        report_collectives(b->local, f);
    else if (strcmp(what, "dot") == 0)
        module_print_dot(b->sharded, f);
    else if (strcmp(what, "plan") == 0)
        plan_print(build_plan(d, b), f);
    else if (strcmp(what, "memory") == 0)
        plan_print_memory(build_plan(d, b), f);
    else
        return false;
    return true;
}

static int emit_stage(Driver *d, const Built *b)
{
    const char *what = d->o.emit;
    char *error = NULL;
    if (strcmp(what, "obj") == 0) {
        Code *code = d->o.output ? build_code(d, build_plan(d, b)) : NULL;
        if (!d->o.output)
            driver_fail(d, "--emit=obj wants -o FILE");
        else if (code && !emit_object(code, d->o.output, &error))
            driver_fail(d, error);
        if (code)
            emit_free(code);
        return diag_failed(&d->diag) ? EXIT_DIAGNOSTICS : EXIT_SUCCESS;
    }
    bool is_llvm = strcmp(what, "llvm") == 0;
    FILE *f = open_output(d);
    if (!f)
        return EXIT_DIAGNOSTICS;
    if (is_llvm || strcmp(what, "asm") == 0) {
        Code *code = build_code(d, build_plan(d, b));
        if (code && is_llvm)
            emit_llvm(code, f);
        else if (code && !emit_asm(code, f, &error))
            driver_fail(d, error);
        if (code)
            emit_free(code);
    } else {
        print_stage(what, d, b, f);
    }
    return close_output(d, f);
}

static bool is_stage(const char *what)
{
    static const char *const stages[] = {"graph", "sharded", "local", "plan",
                                         "collectives", "memory", "llvm",
                                         "asm", "obj", "dot"};
    for (size_t i = 0; i < sizeof stages / sizeof stages[0]; i++)
        if (strcmp(stages[i], what) == 0)
            return true;
    return false;
}

int command_build(Driver *d)
{
    Built b = {0};
    if (d->o.emit && !is_stage(d->o.emit)) {
        fprintf(stderr, "shardc: --emit takes graph, sharded, local, plan, "
                        "collectives, memory, llvm, asm, obj or dot, not %s\n",
                d->o.emit);
        return EXIT_USAGE;
    }
    if (!d->o.emit && (!d->o.output || strcmp(d->o.output, "-") == 0)) {
        fputs("shardc: build wants -o PROG or --emit=WHAT\n", stderr);
        return EXIT_USAGE;
    }
    if (!build_forms(d, FORM_local, &b))
        return EXIT_DIAGNOSTICS;
    if (d->o.emit)
        return emit_stage(d, &b);
    Code *code = build_code(d, build_plan(d, &b));
    if (!code)
        return EXIT_INTERNAL;
    int exit_code = link_output(d, code);
    emit_free(code);
    return exit_code;
}
