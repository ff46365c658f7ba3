// From a program to a module: the entry, and what a report may say once.
#include "frontend/elab.h"

#include <stdio.h>
#include <string.h>

#include "frontend/place.h"

bool elab_first(Elab *e, const char *what)
{
    for (int i = 0; i < e->seen.n; i++)
        if (strcmp(e->seen.at[i], what) == 0)
            return false;
    vec_push(e->arena, &e->seen, what);
    return true;
}

// A function is inlined at each call; what is wrong in it is said once.
Value elab_fail(Elab *e, Span at, const char *fmt, ...)
{
    char text[1000];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    const char *key = arena_printf(e->arena, "%p %d %s",
                                   (const void *)at.source, at.start, text);
    if (elab_first(e, key))
        diag_error(e->diag, at, "%s", text);
    return (Value){0};
}

// Where train last sets `name`.
static Span find_set(const Train *t, const char *name)
{
    Span at = t->at;
    for (int i = 0; i < t->body.n; i++) {
        const Targets *set = &t->body.at[i]->targets;
        for (int k = 0; k < set->n; k++)
            if (strcmp(set->at[k].name.s, name) == 0)
                at = set->at[k].name.at;
    }
    return at;
}

static void run_train(Elab *e)
{
    Scope scope = {.func = e->main};
    e->scope = &scope;
    run_stmts(e, &e->program->train.body);
    const Value *loss = scope_find(e, "loss");
    if (!loss) {
        elab_fail(e, e->program->train.at, "train sets no `loss`");
        return;
    }
    if (loss->kind == VALUE_BAD)
        return;
    if (loss->kind != VALUE_TENSOR || loss->op->type.rank != 0) {
        elab_fail(
            e, e->program->train.at, "the loss must be one number, is %s",
            loss->kind == VALUE_TENSOR
                ? type_string(e->arena, &e->module->mesh, &loss->op->type, NULL)
                : kind_text(loss));
        return;
    }
    Name name = {"loss", find_set(&e->program->train, "loss")};
    elab_output(e, name, loss->op, true);
}

static void run_forward(Elab *e)
{
    const Fn *fn = program_fn(e->program, "forward");
    if (!fn) {
        diag_error(e->diag, e->program->model.at,
                   "the program has neither `train` nor `fn forward`");
        return;
    }
    Value v = call_entry(e, fn);
    if (v.kind == VALUE_TENSOR && e->main->results.n == 0)
        elab_output(e, (Name){"result", fn->name.at}, v.op, true);
    else if (v.kind != VALUE_TENSOR && v.kind != VALUE_BAD)
        elab_fail(e, fn->name.at, "forward returns %s", kind_text(&v));
}

// One value may be given twice under its name, two values may not.
static bool is_taken(Elab *e, Name name, const Op *op)
{
    const Func *f = e->main;
    for (int i = 0; i < f->result_names.n; i++)
        if (strcmp(f->result_names.at[i], name.s) == 0 &&
            f->results.at[i] == op)
            return true;
    for (int i = 0; i < e->outputs.n; i++) {
        const Name *other = &e->outputs.at[i];
        if (strcmp(other->s, name.s) != 0)
            continue;
        bool same = other->at.source == name.at.source &&
                    other->at.start == name.at.start;
        elab_fail(e, name.at,
                  same ? "output `%s` has two values: its function is called "
                         "twice"
                       : "output `%s` has two values, this and that of %s",
                  name.s, span_place(e->arena, other->at));
        return true;
    }
    return false;
}

void elab_output(Elab *e, Name name, Op *op, bool first)
{
    if (is_taken(e, name, op))
        return;
    Arena *a = e->module->arena;
    Func *f = e->main;
    vec_push(e->arena, &e->outputs, name);
    vec_push(a, &f->results, op);
    vec_push(a, &f->result_names, name.s);
    for (int i = f->results.n - 1; first && i > 0; i--) {
        f->results.at[i] = f->results.at[i - 1];
        f->result_names.at[i] = f->result_names.at[i - 1];
    }
    f->results.at[first ? 0 : f->results.n - 1] = op;
    f->result_names.at[first ? 0 : f->results.n - 1] = name.s;
}

static void check_fns(Elab *e)
{
    for (int i = 0; i < e->program->fns.n; i++) {
        const Fn *fn = e->program->fns.at[i];
        if (is_builtin(fn->name.s))
            elab_fail(e, fn->name.at, "`%s` is built in", fn->name.s);
    }
}

// The entry comes last, after the bodies it calls.
static void move_entry_last(Module *m, Func *entry)
{
    int n = 0;
    for (int i = 0; i < m->funcs.n; i++)
        if (m->funcs.at[i] != entry)
            m->funcs.at[n++] = m->funcs.at[i];
    m->funcs.at[n] = entry;
}

Module *elab_run(Arena *a, const Program *p, const BuildOptions *o,
                 FILE *explain, Diag *d)
{
    Elab e = {
        .arena = a, .program = p, .options = o, .diag = d, .explain = explain};
    int before = d->nerror;
    env_init(&e);
    check_fns(&e);
    env_word(&e, "dtype"); // is checked, if the program uses it or not
    if (d->nerror > before)
        return NULL;
    e.module = module_new(a, &o->mesh, FORM_global);
    e.main = e.func = func_new(e.module, "main");
    if (p->train.present)
        run_train(&e);
    else
        run_forward(&e);
    move_entry_last(e.module, e.main);
    if (d->nerror == before)
        axes_check(&e);
    return d->nerror > before ? NULL : e.module;
}

Module *frontend_build(Arena *a, const Program *p, const BuildOptions *o,
                       Diag *d)
{
    return elab_run(a, p, o, NULL, d);
}

bool frontend_explain_rules(Arena *a, const Program *p, const BuildOptions *o,
                            FILE *out, Diag *d)
{
    return elab_run(a, p, o, out, d) != NULL;
}
