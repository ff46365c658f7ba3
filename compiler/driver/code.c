#include "driver/code.h"

#include "pass/partition.h"

void driver_fail(Driver *d, const char *error)
{
    diag_error(&d->diag, (Span){0}, "%s", error ? error : "unknown failure");
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
        .result = placed_of(d, f, f->results.at, f->result_names.at,
                            f->results.n),
    };
    return plan_module(&d->arena, b->local, &placement);
}

Code *build_code(Driver *d, const Plan *plan)
{
    char *error = NULL;
    Code *code = emit_code(&d->arena, plan, &error);
    if (!code)
        driver_fail(d, error);
    return code;
}
