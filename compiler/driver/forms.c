// A model file to GLOBAL, SHARDED and LOCAL.
#include <string.h>

#include "driver/driver.h"
#include "frontend/frontend.h"

// What a device may hold of gathered invariants of loops.
static const int64_t HOIST_BYTES = 64 << 20;

static bool make_mesh(Driver *d, const Program *p, Mesh *mesh)
{
    *mesh = (Mesh){.ndevice = 1};
    return !d->o.mesh ||
           mesh_from_text(&d->arena, p, d->o.mesh, mesh, &d->diag);
}

bool build_options(Driver *d, const Program *p, BuildOptions *out)
{
    *out = (BuildOptions){
        .config = d->o.config,
        .sets = d->o.sets,
        .uneven_pad = d->o.uneven_pad,
    };
    bool ok = make_mesh(d, p, &out->mesh);
    // A program without any rules is replicated, unless a set is asked for.
    if (p->rules.n == 0 && strcmp(d->o.rules, "maxtext") == 0)
        return ok;
    out->rules = rules_find(&d->arena, p, d->o.rules, &d->diag);
    return ok && out->rules;
}

const char *entry_or(const Driver *d, const char *otherwise)
{
    return d->o.entry ? d->o.entry : otherwise;
}

static Entry entry_of(const char *name)
{
    return strcmp(name, "step") == 0   ? ENTRY_step
           : strcmp(name, "best") == 0 ? ENTRY_best
                                       : ENTRY_forward;
}

bool build_forms(Driver *d, const char *entry, Form last, Built *out)
{
    BuildOptions o;
    const PassOptions *pass = &d->o.pass;
    bool explain = out->context.explain;
    *out = (Built){.context = {.arena = &d->arena,
                               .diag = &d->diag,
                               .explain = explain,
                               .uneven_pad = d->o.uneven_pad,
                               .hoist_bytes = HOIST_BYTES}};
    out->program = program_load(&d->arena, d->o.input, &d->diag);
    if (!out->program || !build_options(d, out->program, &o))
        return false;
    out->trains = program_trains(out->program);
    o.entry = entry_of(entry);
    Module *m = frontend_build(&d->arena, out->program, &o, &d->diag);
    if (m)
        m = pass_run(&out->context, m, "grad,fold,dce", pass);
    out->is_step = m && strcmp(module_entry(m)->name, "step") == 0;
    out->global = m;
    if (m && last >= FORM_sharded)
        m = pass_run(&out->context, m, "propagate,reshard,hoist", pass);
    out->sharded = m;
    if (m && last >= FORM_local)
        m = pass_run(&out->context, m, "partition,dce", pass);
    out->local = m;
    return m && !diag_failed(&d->diag);
}
