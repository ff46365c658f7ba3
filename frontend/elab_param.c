// Weights. `param` declares a parameter of the entry function; in a repeat it
// has one more dimension in front, and the loop's body gets a slice of it.
#include <math.h>
#include <string.h>

#include "frontend/elab.h"

typedef struct Init {
    const char *name;
    int narg;
    const char *named; // the argument may be given by this name
} Init;

static const Init inits[] = {
    {"zeros", 0, NULL},
    {"ones", 0, NULL},
    {"constant", 1, NULL},
    {"normal", 1, "fan_in"},
    {"truncated_normal", 1, "fan_in"},
};

static const Init *find_init(Elab *e, const Expr *x, const char *name)
{
    Words words = {0};
    for (size_t i = 0; i < sizeof inits / sizeof *inits; i++) {
        if (name && strcmp(inits[i].name, name) == 0)
            return &inits[i];
        vec_push(e->arena, &words, inits[i].name);
    }
    elab_fail(e, x->at, "no way to make first values is called `%s`%s",
              name ? name : expr_text(e, x),
              name ? suggest(e->arena, name, &words) : "");
    return NULL;
}

static bool read_number(Elab *e, const Expr *x, const char *name, double *out)
{
    Value v = eval_scalar(e, x);
    *out = v.number;
    if (v.kind != VALUE_NUMBER && v.kind != VALUE_BAD)
        elab_fail(e, x->at, "%s wants a number, has %s", name, kind_text(&v));
    return v.kind == VALUE_NUMBER;
}

// The number of `init`: fan_in = n means the deviation n^-1/2.
static bool read_scale(Elab *e, const Init *init, const Expr *x, double *out)
{
    if (x->args.n)
        return read_number(e, x->args.at[0], init->name, out);
    const Field *f = &x->fields.at[0];
    if (!init->named || strcmp(init->named, f->name.s) != 0) {
        elab_fail(e, f->name.at, "%s has no argument `%s`", init->name,
                  f->name.s);
        return false;
    }
    if (!read_number(e, f->value, init->name, out))
        return false;
    if (!(*out > 0)) {
        elab_fail(e, f->value->at, "%s must be more than 0, is %g", f->name.s,
                  *out);
        return false;
    }
    *out = 1 / sqrt(*out);
    return true;
}

// Reads how a weight's first values are made; false if there is an error.
static bool read_init(Elab *e, const Expr *x, const Init **out, double *scale)
{
    bool is_call = x->kind == EXPR_CALL;
    const Init *init = find_init(e, x, is_call ? x->base->name : x->name);
    int n = is_call ? x->args.n + x->fields.n : 0;
    *out = init;
    *scale = 0;
    if (!init)
        return false;
    if (n != init->narg) {
        elab_fail(e, x->at, "%s wants %d argument%s, has %d", init->name,
                  init->narg, init->narg == 1 ? "" : "s", n);
        return false;
    }
    return n == 0 || read_scale(e, init, x, scale);
}

void set_init(Elab *e, Op *op, const Expr *x)
{
    const Init *init;
    double scale;
    Func *f = e->main;
    if (!x || !read_init(e, x, &init, &scale))
        return;
    op_set_str(f, op, A_init, init->name);
    if (init->narg)
        op_set_floats(f, op, A_scale, 1, &scale);
}

static bool is_taken(Elab *e, const char *path, Span at)
{
    for (int i = 0; i < e->weights.n; i++) {
        const Weight *w = &e->weights.at[i];
        if (strcmp(w->path, path) != 0)
            continue;
        bool same = w->at.source == at.source && w->at.start == at.start;
        elab_fail(e, at, "weight %s is declared twice%s", path,
                  same ? ": the function that declares it is called twice in "
                         "one scope"
                       : "");
        if (!same)
            diag_note(e->diag, w->at, "here first");
        return true;
    }
    for (int i = 0; i < e->ninput; i++) {
        if (strcmp(e->main->ops.at[i]->name, path) != 0)
            continue;
        elab_fail(e, at, "weight %s has the name of an input", path);
        return true;
    }
    vec_push(e->arena, &e->weights, ((Weight){path, at}));
    return false;
}

// Weights keep the name of their path; an op that has it gets another.
static Op *add_weight(Elab *e, Span at, const char *path, const Type *t)
{
    Op *other = NULL;
    for_each_op (op, e->main)
        if (op->name && strcmp(op->name, path) == 0)
            other = op;
    if (other)
        other->name = NULL;
    Op *op = emit_param(e, e->main, at, e->main->nparam, path, t);
    op_set_str(e->main, op, A_class, "param");
    if (other)
        other->name = func_unique_name(e->main, path);
    return op;
}

// The body's slice of a stacked weight.
static Op *add_slice(Elab *e, Span at, const char *name, const Type *t,
                     Op *stack)
{
    Op *op = emit_param(e, e->func, at, e->func->nparam, name, t);
    for (int i = 0; i < t->rank; i++)
        op->sharding.dim[i] = stack->sharding.dim[i + 1];
    vec_push(e->arena, &e->repeat->stacked, ((Link){stack, op}));
    return op;
}

static Type stacked_type(const Type *t, int64_t n)
{
    Type stack = *t;
    stack.rank++;
    memmove(stack.dim + 1, t->dim, sizeof *t->dim * (size_t)t->rank);
    stack.dim[0] = n;
    return stack;
}

static Value declare(Elab *e, const Stmt *s, const Name *name, const Type *t,
                     const char *const size[])
{
    const Repeat *r = e->repeat;
    const char *path = name->s, *sizes[MAX_RANK + 1] = {0};
    if (r)
        path = arena_printf(e->module->arena, "%s.%s", r->name, name->s);
    if (is_taken(e, path, name->at))
        return (Value){0};
    if (r && t->rank == MAX_RANK)
        return elab_fail(e, s->at, "more than %d dimensions", MAX_RANK);
    Type whole = r ? stacked_type(t, r->n) : *t;
    sizes[0] = r ? r->size : NULL;
    memcpy(sizes + (r != NULL), size, sizeof *size * (size_t)t->rank);
    Op *op = add_weight(e, name->at, path, &whole);
    set_init(e, op, s->value);
    if (s->axes) {
        Value axes = eval_scalar(e, s->axes);
        if (axes.kind != VALUE_AXES && axes.kind != VALUE_BAD)
            elab_fail(e, s->axes->at, "`@` wants a list of axes, has %s",
                      kind_text(&axes));
        if (axes.kind == VALUE_AXES)
            place(e,
                  &(Placement){path, &whole, sizes, r ? r->logical : NULL,
                               r != NULL, axes.axes, s->axes->at, true},
                  &op->sharding);
    }
    Value v = value_tensor(r ? add_slice(e, name->at, name->s, t, op) : op);
    v.is_weight = true;
    for (int i = 0; i < v.rank; i++)
        v.dim[i].size = size[i];
    return v;
}

void run_param(Elab *e, const Stmt *s)
{
    Type type;
    const char *size[MAX_RANK] = {0};
    bool ok = type_of(e, &s->type, &type, size);
    if (e->is_custom || e->update) {
        elab_fail(e, s->at, "%s takes its weights as parameters",
                  e->update ? "an optimizer" : "a function with a backward");
        ok = false;
    }
    for (int i = 0; i < s->names.n; i++) {
        const Name *name = &s->names.at[i];
        scope_set(e, name->s,
                  ok ? declare(e, s, name, &type, size) : (Value){0});
    }
}
