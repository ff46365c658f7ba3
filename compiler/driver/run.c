// shardc run: build in memory and run.
#include <stdlib.h>
#include <string.h>

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
        .memory = o->memory,
        .steps = o->steps,
        .data = o->data,
        .data_type = o->data_type,
        .seed = o->seed,
        .save = o->save,
        .save_every = o->save_every,
        .keep = o->keep,
        .metrics = o->metrics,
        .debug_nan = o->debug_nan,
    };
    RtPrograms p = {.forward = jit.blob, .forward_kernels = jit.kernels};
    if (o->steps)
        p = (RtPrograms){.step = jit.blob, .step_kernels = jit.kernels};
    int exit_code = rt_run_programs(&p, &options, stdout, stderr);
    e->unload(&jit);
    return exit_code;
}

int command_run(Driver *d)
{
    Built b = {0};
    const char *entry = entry_or(d, d->o.steps ? "step" : "forward");
    if (d->o.steps < 0 || (d->o.steps != 0) != (strcmp(entry, "step") == 0)) {
        fputs("shardc: --entry step goes with --steps N\n", stderr);
        return EXIT_USAGE;
    }
    if (d->o.interpret && !can_interpret_training(&d->o))
        return EXIT_USAGE;
    if (!build_forms(d, entry, FORM_local, &b))
        return EXIT_DIAGNOSTICS;
    if (d->o.interpret)
        return run_interpreter(d, &b);
    Emitter e;
    Code *code;
    if (!build_code(d, &b, &e, &code))
        return EXIT_INTERNAL;
    int exit_code = run_code(d, &e, code);
    e.free_code(code);
    return exit_code;
}
