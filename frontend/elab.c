// From a program to a module: the entry, and what a report may say once.
#include "frontend/elab.h"

#include <stdio.h>
#include <string.h>

#include "frontend/place.h"
#include "ir/op.h"

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

typedef VEC(Func *) Funcs;

// Appends f behind the functions that it calls.
static void visit(const Module *m, Func *f, Funcs *order)
{
    static const AttrKey calls[] = {A_body, A_backward};
    for (int i = 0; i < order->n; i++)
        if (order->at[i] == f)
            return;
    for_each_op (op, f)
        for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
            if (op_str(op, calls[i]))
                visit(m, module_find(m, op_str(op, calls[i])), order);
    vec_push(m->arena, order, f);
}

// Callees before callers, the entry last; what nothing calls is left out.
static void order_funcs(Module *m, Func *entry)
{
    Funcs order = {0};
    visit(m, entry, &order);
    memcpy(m->funcs.at, order.at, sizeof(Func *) * (size_t)order.n);
    m->funcs.n = order.n;
}

const char *unique_func(Elab *e, const char *name)
{
    static const char *const entries[] = {"main", "loss", "step"};
    const char *unique = name;
    bool taken = module_find(e->module, name);
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        taken |= strcmp(entries[i], name) == 0;
    for (int n = 2; taken; n++) {
        unique = arena_printf(e->module->arena, "%s.%d", name, n);
        taken = module_find(e->module, unique);
    }
    return unique;
}

static void run_main(Elab *e, const char *name)
{
    e->main = e->func = func_new(e->module, name);
    if (e->program->train.present)
        run_train(e);
    else
        run_forward(e);
}

// The size that the first dimension of an input is, in `e`; NULL if it has no
// such size, or the parts do not divide it.
static Setting *find_cut(Elab *e, const TypeExpr *t, const Op *input,
                         int64_t parts, Span at)
{
    const Expr *x = t->dim.n ? t->dim.at[0] : NULL;
    Setting *s = x && x->kind == EXPR_NAME ? env_find(e, x->name) : NULL;
    if (!s || s->kind != SETTING_SIZE) {
        elab_fail(e, at,
                  "micro_batches cuts the first dimension of each input; that "
                  "of %s is no size with a name",
                  input->name);
        return NULL;
    }
    if (input->type.dim[0] % parts == 0)
        return s;
    elab_fail(e, at, "micro_batches is %ld, which does not divide %s = %ld",
              (long)parts, s->name.s, (long)input->type.dim[0]);
    return NULL;
}

static bool cut_sizes(Elab *e, const Elab *whole)
{
    Span at = whole->line[LINE_micro_batches]->value->at;
    for (int i = 0; i < whole->ninput; i++) {
        const Op *input = whole->main->ops.at[i];
        Setting *s =
            find_cut(e, whole->inputs.at[i], input, whole->parts, at);
        if (!s)
            return false;
        Expr *size = arena_new(e->arena, Expr, 1);
        *size = (Expr){.kind = EXPR_NUMBER, .at = at, .is_int = true};
        size->number = (double)(input->type.dim[0] / whole->parts);
        s->value = size;
    }
    return true;
}

Elab *elab_part(const Elab *whole)
{
    Elab *e = arena_new(whole->arena, Elab, 1);
    *e = (Elab){.arena = whole->arena,
                .program = whole->program,
                .options = whole->options,
                .diag = whole->diag,
                .module = whole->module,
                .is_part = true};
    int before = e->diag->nerror;
    env_init(e);
    if (cut_sizes(e, whole))
        run_main(e, "loss.part");
    return e->diag->nerror > before ? NULL : e;
}

Module *elab_run(Arena *a, const Program *p, const BuildOptions *o,
                 FILE *explain, Diag *d)
{
    Elab e = {
        .arena = a, .program = p, .options = o, .diag = d, .explain = explain};
    int before = d->nerror;
    env_init(&e);
    check_fns(&e);
    env_word(&e, "dtype"); // are checked, if the program uses them or not
    env_word(&e, "grad_reduce");
    if (d->nerror > before)
        return NULL;
    e.module = module_new(a, &o->mesh, FORM_global);
    run_main(&e, "main");
    if (d->nerror == before)
        axes_check(&e);
    bool trains = e.line[LINE_optimizer];
    if (o->entry == ENTRY_step && !trains && d->nerror == before)
        diag_error(d, p->train.at,
                   "there is no entry `step`: train names no optimizer");
    if (o->entry != ENTRY_forward && trains && d->nerror == before)
        elab_step(&e);
    if (d->nerror > before)
        return NULL;
    order_funcs(e.module, e.main);
    return e.module;
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
