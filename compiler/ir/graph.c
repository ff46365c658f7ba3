#include "ir/graph.h"

#include <assert.h>
#include <string.h>

#include "ir/op.h"

const char *const form_name[] = {"global", "sharded", "local"};

const char *const attr_name[] = {
#define ATTR(name, kind) [A_##name] = #name,
#include "ir/attrs.def"
};

const AttrKind attr_kind[] = {
#define ATTR(name, kind) [A_##name] = ATTR_##kind,
#include "ir/attrs.def"
};

int attr_find(const char *name)
{
    for (int i = 0; i < NATTR; i++)
        if (strcmp(attr_name[i], name) == 0)
            return i;
    return -1;
}

Module *module_new(Arena *a, const Mesh *mesh, Form form)
{
    Module *m = arena_new(a, Module, 1);
    m->arena = a;
    m->mesh = *mesh;
    m->form = form;
    return m;
}

Func *module_entry(const Module *m)
{
    return m->funcs.at[m->funcs.n - 1];
}

Func *module_find(const Module *m, const char *name)
{
    for (int i = 0; i < m->funcs.n; i++)
        if (strcmp(m->funcs.at[i]->name, name) == 0)
            return m->funcs.at[i];
    return NULL;
}

Func *func_new(Module *m, const char *name)
{
    Func *f = arena_new(m->arena, Func, 1);
    f->module = m;
    f->name = name;
    vec_push(m->arena, &m->funcs, f);
    return f;
}

Op *func_add(Func *f, OpCode code, int noperand, Op *const operand[])
{
    Arena *a = f->module->arena;
    Op *op = arena_new(a, Op, 1);
    op->code = code;
    op->id = f->ops.n;
    op->noperand = noperand;
    op->operand = arena_new(a, Op *, (size_t)noperand);
    for (int i = 0; i < noperand; i++)
        op->operand[i] = operand[i];
    if (code == OP_param) {
        assert(f->nparam == f->ops.n);
        f->nparam++;
    }
    vec_push(a, &f->ops, op);
    return op;
}

bool op_infer(const Func *f, Op *op, Diag *d)
{
    return op_info[op->code]->infer(f, op, d);
}

Op *func_copy_op(Func *f, const Op *op, Op *const operand[])
{
    Op *copy = func_add(f, op->code, op->noperand, operand);
    for (int i = 0; i < op->attrs.n; i++)
        vec_push(f->module->arena, &copy->attrs, op->attrs.at[i]);
    copy->name = op->name;
    copy->type = op->type;
    copy->sharding = op->sharding;
    copy->at = op->at;
    copy->place = op->place;
    return copy;
}

static bool name_is_used(const Func *f, const char *name)
{
    for (int i = 0; i < f->ops.n; i++)
        if (f->ops.at[i]->name && strcmp(f->ops.at[i]->name, name) == 0)
            return true;
    return false;
}

const char *func_unique_name(const Func *f, const char *name)
{
    const char *unique = name;
    for (int n = 2; name_is_used(f, unique); n++)
        unique = arena_printf(f->module->arena, "%s.%d", name, n);
    return unique;
}

Op **op_map_operands(Arena *a, const Op *op, Op *const to[])
{
    Op **operand = arena_new(a, Op *, (size_t)op->noperand);
    for (int i = 0; i < op->noperand; i++)
        operand[i] = to[op->operand[i]->id];
    return operand;
}

void func_map_results(Func *out, const Func *f, Op *const to[])
{
    Arena *a = out->module->arena;
    for (int i = 0; i < f->results.n; i++)
        vec_push(a, &out->results, to[f->results.at[i]->id]);
    for (int i = 0; i < f->result_names.n; i++)
        vec_push(a, &out->result_names, f->result_names.at[i]);
}

// Replaces an attribute of the same key, or appends.
static void set_attr(Func *f, Op *op, Attr attr)
{
    for (int i = 0; i < op->attrs.n; i++) {
        if (op->attrs.at[i].key == attr.key) {
            op->attrs.at[i] = attr;
            return;
        }
    }
    vec_push(f->module->arena, &op->attrs, attr);
}

void op_set_int(Func *f, Op *op, AttrKey key, int64_t i)
{
    op_set_ints(f, op, key, 1, &i);
}

void op_set_ints(Func *f, Op *op, AttrKey key, int n, const int64_t i[])
{
    int64_t *copy = arena_new(f->module->arena, int64_t, (size_t)n);
    if (n)
        memcpy(copy, i, sizeof *i * (size_t)n);
    set_attr(f, op, (Attr){.key = key, .n = n, .ints = copy});
}

void op_set_floats(Func *f, Op *op, AttrKey key, int n, const double x[])
{
    double *copy = arena_new(f->module->arena, double, (size_t)n);
    if (n)
        memcpy(copy, x, sizeof *x * (size_t)n);
    set_attr(f, op, (Attr){.key = key, .n = n, .floats = copy});
}

void op_set_str(Func *f, Op *op, AttrKey key, const char *s)
{
    const char *copy = arena_strndup(f->module->arena, s, strlen(s));
    set_attr(f, op, (Attr){.key = key, .n = 1, .str = copy});
}

void op_set_split(Func *f, Op *op, AttrKey key, const Split *s)
{
    Split *copy = arena_new(f->module->arena, Split, 1);
    *copy = *s;
    set_attr(f, op, (Attr){.key = key, .n = 1, .split = copy});
}

const Attr *op_attr(const Op *op, AttrKey key)
{
    for (int i = 0; i < op->attrs.n; i++)
        if (op->attrs.at[i].key == key)
            return &op->attrs.at[i];
    return NULL;
}

int64_t op_int(const Op *op, AttrKey key, int64_t otherwise)
{
    const Attr *a = op_attr(op, key);
    return a ? a->ints[0] : otherwise;
}

const char *op_str(const Op *op, AttrKey key)
{
    const Attr *a = op_attr(op, key);
    return a ? a->str : NULL;
}
