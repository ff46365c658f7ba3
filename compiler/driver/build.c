// shardc build: a native executable, or one stage on the way to it.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cost/report.h"
#include "driver/code.h"
#include "driver/dot.h"

// A program's object in a temporary file; NULL after saying why.
static char *write_object(Driver *d, const Built *b)
{
    Emitter e;
    Code *code;
    char *error = NULL;
    char *object = arena_printf(&d->arena, "%s.XXXXXX.o", d->o.output);
    if (!build_code(d, b, &e, &code))
        return NULL;
    int fd = mkstemps(object, 2);
    if (fd < 0) {
        driver_fail(d, arena_printf(&d->arena, "%s: cannot write: %s",
                                    d->o.output, strerror(errno)));
        object = NULL;
    } else {
        close(fd);
        if (!e.object(code, object, &error)) {
            driver_fail(d, error);
            unlink(object);
            object = NULL;
        }
    }
    e.free_code(code);
    return object;
}

// An executable holds the forward pass and, where the model trains, the step.
static int link_output(Driver *d)
{
    Built b = {0}, step = {0};
    char *error = NULL, *forward, *other = NULL;
    bool ok = build_forms(d, "forward", FORM_local, &b);
    bool trains = ok && b.trains;
    ok = ok && (!trains || build_forms(d, "step", FORM_local, &step));
    if (!ok || !(forward = write_object(d, &b)))
        return EXIT_DIAGNOSTICS;
    ok = !trains || (other = write_object(d, &step));
    if (ok && !link_program(&d->arena, forward, other,
                            find_beside(&d->arena, "runtime",
                                        "../lib/shardc"),
                            d->o.output, &error)) {
        driver_fail(d, error);
        ok = false;
    }
    unlink(forward);
    if (other)
        unlink(other);
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

// Writes what LLVM makes of the program: text to f, or an object.
static void emit_native(Driver *d, const Built *b, FILE *f)
{
    Emitter e;
    Code *code;
    char *error = NULL;
    bool ok = true;
    if (!build_code(d, b, &e, &code))
        return;
    if (strcmp(d->o.emit, "llvm") == 0)
        e.llvm(code, f);
    else if (strcmp(d->o.emit, "asm") == 0)
        ok = e.assembly(code, f, &error);
    else
        ok = e.object(code, d->o.output, &error);
    if (!ok)
        driver_fail(d, error);
    e.free_code(code);
}

static int emit_stage(Driver *d, const Built *b)
{
    if (strcmp(d->o.emit, "obj") == 0) {
        emit_native(d, b, NULL);
        return diag_failed(&d->diag) ? EXIT_DIAGNOSTICS : EXIT_SUCCESS;
    }
    FILE *f = open_output(d);
    if (!f)
        return EXIT_DIAGNOSTICS;
    if (!print_stage(d->o.emit, d, b, f))
        emit_native(d, b, f);
    return close_output(d, f);
}

static bool is_stage(const char *what)
{
    static const char *const stages[] = {
        "graph",  "sharded", "local", "plan", "collectives",
        "memory", "llvm",    "asm",   "obj",  "dot"};
    for (size_t i = 0; i < sizeof stages / sizeof stages[0]; i++)
        if (strcmp(stages[i], what) == 0)
            return true;
    return false;
}

// What is wrong with the options, or NULL.
static const char *wrong_options(const Options *o)
{
    bool has_file = o->output && strcmp(o->output, "-") != 0;
    if (o->emit && !is_stage(o->emit))
        return "--emit takes graph, sharded, local, plan, collectives, memory, "
               "llvm, asm, obj or dot";
    if (o->emit && strcmp(o->emit, "obj") == 0 && !has_file)
        return "--emit=obj wants -o FILE";
    if (!o->emit && !has_file)
        return "build wants -o PROG or --emit=WHAT";
    return NULL;
}

int command_build(Driver *d)
{
    Built b = {0};
    const char *wrong = wrong_options(&d->o);
    if (wrong) {
        fprintf(stderr, "shardc: %s\ntry: shardc build --help\n", wrong);
        return EXIT_USAGE;
    }
    if (!d->o.emit)
        return link_output(d);
    if (!build_forms(d, entry_or(d, "best"), FORM_local, &b))
        return EXIT_DIAGNOSTICS;
    return emit_stage(d, &b);
}
