// shardc run: build in memory and run.
#include <stdlib.h>

#include "driver/code.h"
#include "driver/interpret.h"
#include "runtime/runtime.h"

static int run_code(Driver *d, const Emitter *e, Code *code)
{
    Jit jit;
    char *error = NULL;
    const Options *o = &d->o;
    if (!e->load(code, &jit, &error)) {
        driver_fail(d, error);
        return EXIT_INTERNAL;
    }
    RtOptions options = {
        .load = o->load,
        .feed = o->feed,
        .dump = o->dump,
        .stats = o->stats,
        .isolate = o->isolate || getenv("SHARDC_ISOLATE"),
        .workers = o->workers,
        .repeat = o->repeat,
        .deadline = o->deadline,
    };
    int exit_code = rt_run(jit.blob, jit.kernels, &options, stdout, stderr);
    e->unload(&jit);
    return exit_code;
}

int command_run(Driver *d)
{
    Built b = {0};
    if (!build_forms(d, FORM_local, &b))
        return EXIT_DIAGNOSTICS;
    if (d->o.interpret)
        return run_interpreter(d, &b);
    Emitter e;
    Code *code;
    if (!build_code(d, build_plan(d, &b), &e, &code))
        return EXIT_INTERNAL;
    int exit_code = run_code(d, &e, code);
    e.free_code(code);
    return exit_code;
}
