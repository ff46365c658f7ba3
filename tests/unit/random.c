#include "random.h"

#include <math.h>

static const double max_value = 10000, max_rounded = 30;

// SplitMix64 (Steele et al., 2014).
static uint64_t next(Gen *g)
{
    uint64_t z = g->state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

int below(Gen *g, int n)
{
    return (int)(next(g) % (uint64_t)n);
}

bool chance(Gen *g, int percent)
{
    return below(g, 100) < percent;
}

int64_t random_size(Gen *g)
{
    static const int64_t sizes[] = {1, 2, 3, 4, 5, 6, 8, 12};
    return chance(g, 80) ? g->size[below(g, 3)] : sizes[below(g, 8)];
}

DType random_float(Gen *g)
{
    return g->rounds && chance(g, 60) ? DT_bf16 : DT_f32;
}

double *random_input(Arena *a, const Type *t, int index)
{
    int64_t n = type_count(t);
    double *x = arena_new(a, double, (size_t)n + 1);
    for (int64_t i = 0; i < n; i++) {
        int64_t k = i * 37 + 11 * index;
        if (t->dtype == DT_i32)
            x[i] = (double)(k % 7 - index % 2);
        else if (t->dtype == DT_bool)
            x[i] = (double)(k % 3 == 0);
        else
            x[i] = (double)(k % 101 + 32 - index % 3 * 40) / 64;
    }
    return x;
}

// --- placements --------------------------------------------------------------

static bool fits(const Gen *g, int64_t size, const Split *s)
{
    const Mesh *m = &g->module->mesh;
    int64_t whole = 1;
    for (int i = 0; i < s->n; i++)
        whole *= s->item[i] < 0 ? -s->item[i] : m->atom[s->item[i]].size;
    return size % whole == 0 || (g->uneven && !split_has_gap(s));
}

// Puts atoms [first, first + n) into a dimension or among the pending ones.
static void put_atoms(Gen *g, Sharding *s, const Type *t, int first, int n,
                      bool may_pend)
{
    int where = below(g, t->rank + 1);
    if (where == t->rank) {
        for (int i = 0; i < n && may_pend && chance(g, 50); i++)
            s->partial |= (AtomSet)1 << (first + i);
        return;
    }
    Split trial = s->dim[where];
    if (chance(g, 15))
        split_push(&trial, -2 - below(g, 2));
    for (int i = 0; i < n; i++)
        split_push(&trial, first + i);
    if (fits(g, t->dim[where], &trial))
        s->dim[where] = trial;
}

Sharding random_sharding(Gen *g, const Type *t, bool may_pend)
{
    const Mesh *m = &g->module->mesh;
    Sharding s = {0};
    int start = below(g, m->naxis);
    may_pend &= t->dtype != DT_bool && chance(g, 40);
    for (int i = 0; i < m->naxis; i++) {
        const Axis *axis = &m->axis[(start + i) % m->naxis];
        if (chance(g, 20))
            continue;
        bool is_cut = chance(g, 25);
        for (int k = 0; is_cut && k < axis->natom; k++)
            if (chance(g, 60))
                put_atoms(g, &s, t, axis->atom + k, 1, may_pend);
        if (!is_cut)
            put_atoms(g, &s, t, axis->atom, axis->natom, may_pend);
    }
    if (s.partial && chance(g, 15))
        s.combiner = chance(g, 50) ? COMBINE_max : COMBINE_min;
    return s;
}

// --- values ------------------------------------------------------------------

static Value *push_value(Gen *g, Op *op, double *x, int fraction)
{
    Value *v = arena_new(g->arena, Value, 1);
    *v = (Value){op, x, fraction};
    vec_push(g->arena, &g->values, v);
    return v;
}

Value *new_param(Gen *g, const Type *t)
{
    Op *op = func_add(g->params, OP_param, 0, NULL);
    op->type = *t;
    op->name = arena_printf(g->arena, "p%d", op->id);
    if (!g->is_body)
        op->sharding = random_sharding(g, t, true);
    if (!g->is_body && chance(g, 30))
        op_set_str(g->params, op, A_class, chance(g, 50) ? "param" : "input");
    return push_value(g, op, random_input(g->arena, t, op->id),
                      g->is_body                 ? INEXACT
                      : dtype_is_float(t->dtype) ? 6
                                                 : 0);
}

Value *pick(Gen *g, DType dtype)
{
    for (int n = 0; n < 8 && g->values.n; n++) {
        int last = chance(g, 50) && g->values.n > 3 ? 3 : g->values.n;
        Value *v = g->values.at[g->values.n - 1 - below(g, last)];
        if (dtype == NDTYPE || v->op->type.dtype == dtype)
            return v;
    }
    Type t = {.dtype = dtype == NDTYPE ? random_float(g) : dtype,
              .rank = 1 + below(g, 3)};
    for (int i = 0; i < t.rank; i++)
        t.dim[i] = random_size(g);
    return pick_like(g, &t);
}

Value *pick_like(Gen *g, const Type *t)
{
    int start = g->values.n ? below(g, g->values.n) : 0;
    for (int i = 0; i < g->values.n && chance(g, 97); i++) {
        Value *v = g->values.at[(start + i) % g->values.n];
        if (type_equal(&v->op->type, t))
            return v;
    }
    if (type_count(t) > MAX_COUNT)
        return NULL;
    if (!g->is_body && g->params->ops.n < 6 && chance(g, 80))
        return new_param(g, t);
    Op *op = begin(g, OP_constant, 0, NULL);
    double x = t->dtype == DT_bool ? 1 : 3;
    op->type = *t;
    op_set_floats(g->ops, op, A_value, 1, &x);
    return keep(g, op, 0);
}

int fraction_of(Gen *g, const Op *op)
{
    int most = 0;
    for (int i = 0; i < g->values.n; i++)
        for (int t = 0; t < op->noperand; t++)
            if (g->values.at[i]->op == op->operand[t] &&
                g->values.at[i]->fraction > most)
                most = g->values.at[i]->fraction;
    return most;
}

Op *begin(Gen *g, OpCode code, int n, Value *const operand[])
{
    Op *in[MAX_TENSORS];
    for (int i = 0; i < n; i++)
        in[i] = operand[i]->op;
    Op *op = func_add(g->ops, code, n, in);
    op->name = arena_printf(g->arena, "v%d", op->id);
    if (code != OP_param && chance(g, 10))
        op->place = "model.shard:1:2";
    return op;
}

static const double *value_of(const Gen *g, const Op *op)
{
    for (int i = 0; i < g->values.n; i++)
        if (g->values.at[i]->op == op)
            return g->values.at[i]->x;
    return NULL;
}

// A loop alone in a module: the interpreter walks into its body there.
static const double *compute_loop(Gen *g, const Op *op,
                                  const double *const in[])
{
    Module *m = module_new(g->arena, &g->module->mesh, FORM_global);
    Func *body = module_find(g->module, op_str(op, A_body));
    vec_push(g->arena, &m->funcs, body);
    Func *f = func_new(m, "main");
    Op *param[MAX_TENSORS];
    for (int t = 0; t < op->noperand; t++) {
        param[t] = func_add(f, OP_param, 0, NULL);
        param[t]->type = op->operand[t]->type;
    }
    vec_push(g->arena, &f->results, func_copy_op(f, op, param));
    return module_interp(g->arena, m, in)[0];
}

static int64_t points(const Op *op)
{
    Rule r;
    int64_t n = 1;
    if (!op_info[op->code]->rule)
        return n;
    op_info[op->code]->rule(op, &r);
    for (int f = 0; f < r.nfactor; f++)
        n *= r.size[f];
    return n;
}

static double *compute(Gen *g, const Op *op)
{
    const double *in[MAX_TENSORS];
    int64_t n = type_count(&op->type);
    double *x = arena_new(g->arena, double, (size_t)n + 1);
    for (int t = 0; t < op->noperand; t++)
        in[t] = value_of(g, op->operand[t]);
    if (op_role(op) == ROLE_loop)
        return (double *)compute_loop(g, op, in);
    op_interp(g->ops, op, 0, in, x);
    return x;
}

Value *keep(Gen *g, Op *op, int fraction)
{
    bool ok = op_infer(g->ops, op, g->diag) &&
              type_count(&op->type) <= MAX_COUNT && points(op) <= MAX_POINTS;
    double *x = ok ? compute(g, op) : NULL;
    for (int64_t i = 0; ok && i < type_count(&op->type); i++)
        ok = fabs(x[i]) <= (g->rounds ? max_rounded : max_value);
    if (fraction > INEXACT || op->type.dtype == DT_bf16)
        fraction = INEXACT;
    if (ok)
        return push_value(g, op, x, fraction);
    g->ops->ops.n--;
    return NULL;
}

// --- programs ----------------------------------------------------------------

static Op *copy_of(const Gen *g, Op *const copy[], const Op *op)
{
    for (int i = 0; i < g->values.n; i++)
        if (g->values.at[i]->op == op)
            return copy[i];
    return NULL;
}

static void copy_values(Gen *g, Func *f, bool params, Op *copy[])
{
    for (int i = 0; i < g->values.n; i++) {
        const Op *op = g->values.at[i]->op;
        Op *in[MAX_TENSORS];
        if ((op->code == OP_param) != params)
            continue;
        for (int t = 0; t < op->noperand; t++)
            in[t] = copy_of(g, copy, op->operand[t]);
        copy[i] = func_copy_op(f, op, in);
    }
}

Func *assemble(Gen *g, Module *out, const char *name, int n,
               Value *const result[])
{
    Func *f = func_new(out, name);
    Op **copy = arena_new(g->arena, Op *, (size_t)g->values.n);
    copy_values(g, f, true, copy);
    copy_values(g, f, false, copy);
    for (int i = 0; i < n; i++)
        vec_push(g->arena, &f->results, copy_of(g, copy, result[i]->op));
    return f;
}

static Mesh random_mesh(Gen *g)
{
    static const int sizes[][2] = {{2, 0}, {3, 0}, {2, 2}, {2, 3}, {4, 2},
                                   {5, 0}, {4, 0}, {6, 0}, {2, 4}};
    Mesh m = {0};
    const int *size = sizes[below(g, 9)];
    mesh_add_axis(&m, "x", size[0]);
    if (size[1])
        mesh_add_axis(&m, "y", size[1]);
    return m;
}

// The bodies of loops that were kept, then the entry.
static Module *finish(Gen *g, int n, Value *const result[])
{
    Module *out = module_new(g->arena, &g->module->mesh, FORM_global);
    for_each_op (op, g->ops) {
        if (op_role(op) != ROLE_loop)
            continue;
        Func *body = module_find(g->module, op_str(op, A_body));
        Func *copy = func_new(out, body->name);
        Op **to = arena_new(g->arena, Op *, (size_t)body->ops.n);
        for_each_op (each, body)
            to[each->id] =
                func_copy_op(copy, each, op_map_operands(g->arena, each, to));
        vec_push(g->arena, &copy->results, to[body->results.at[0]->id]);
    }
    assemble(g, out, "main", n, result);
    return out;
}

RandomModule random_module(Arena *a, uint64_t seed)
{
    static FILE *nowhere;
    if (!nowhere)
        nowhere = fopen("/dev/null", "w");
    Diag quiet = {.out = nowhere};
    Gen g = {.arena = a, .diag = &quiet, .state = seed};
    Mesh mesh = random_mesh(&g);
    g.module = module_new(a, &mesh, FORM_global);
    g.params = func_new(g.module, "params");
    g.ops = func_new(g.module, "ops");
    g.uneven = chance(&g, 50);
    g.rounds = chance(&g, 20);
    for (int i = 0; i < 3; i++) {
        static const int64_t sizes[] = {1, 2, 3, 4, 5, 6, 8, 12};
        g.size[i] = sizes[chance(&g, 20) ? below(&g, 8) : 3 + below(&g, 5)];
    }
    for (int i = 1 + below(&g, 3); i > 0; i--) {
        Type t = {.dtype = random_float(&g), .rank = 1 + below(&g, 3)};
        for (int k = 0; k < t.rank; k++)
            t.dim[k] = random_size(&g);
        new_param(&g, &t);
    }
    int n = 1 + below(&g, 12);
    for (int tries = 0; n > 0 && tries < 60; tries++)
        n -= random_op(&g);
    Value *result[3];
    int nresult = 1 + below(&g, 3);
    for (int i = 0; i < nresult; i++)
        result[i] = i ? pick(&g, NDTYPE) : g.values.at[g.values.n - 1];
    return (RandomModule){finish(&g, nresult, result), g.uneven};
}
