// Constant folding: an op of constants alone becomes a constant.
//
// Small results only (a table of rotation frequencies, not a tensor), computed
// by the interpreter in f64 and so better rounded than the program would do. A
// table is not spread over further dimensions: that is left to the program.
#include <string.h>

#include "ir/interp.h"
#include "ir/op.h"
#include "pass/pass.h"

enum {
    MAX_FOLDED = 4096, // elements
};

typedef struct Fold {
    PassContext *c;
    Func *out;
    Op **to;
    double **value; // by old id; NULL if not constant
} Fold;

static bool can_fold(const Fold *x, const Op *op)
{
    if (op_role(op) != ROLE_compute || type_count(&op->type) > MAX_FOLDED)
        return false;
    for (int t = 0; t < op->noperand; t++)
        if (!x->value[op->operand[t]->id])
            return false;
    return true;
}

// Whether all are the same number; 0 and -0 are two.
static bool is_uniform(const double *x, int64_t n)
{
    for (int64_t i = 1; i < n; i++)
        if (memcmp(&x[i], &x[0], sizeof x[0]) != 0)
            return false;
    return true;
}

// Whether the result is larger than what it is made of.
static bool grows(const Op *op)
{
    int64_t most = 0;
    for (int t = 0; t < op->noperand; t++)
        if (type_count(&op->operand[t]->type) > most)
            most = type_count(&op->operand[t]->type);
    return op->noperand && type_count(&op->type) > most;
}

static double *compute(const Fold *x, const Func *f, const Op *op)
{
    const double *in[MAX_TENSORS];
    double *out =
        arena_new(x->c->arena, double, (size_t)type_count(&op->type) + 1);
    for (int t = 0; t < op->noperand; t++)
        in[t] = x->value[op->operand[t]->id];
    op_interp(f, op, 0, in, out);
    return grows(op) && !is_uniform(out, type_count(&op->type)) ? NULL : out;
}

static bool is_used_alive(const Fold *x, const Func *f, const Op *op)
{
    for (int i = 0; i < f->results.n; i++)
        if (f->results.at[i] == op)
            return true;
    for (int i = op->id + 1; i < f->ops.n; i++)
        for (int t = 0; t < f->ops.at[i]->noperand; t++)
            if (f->ops.at[i]->operand[t] == op && !x->value[i])
                return true;
    return false;
}

static Op *add_constant(Fold *x, const Op *op, const double *value)
{
    Op *k = func_add(x->out, OP_constant, 0, NULL);
    k->type = op->type;
    k->name = op->name;
    k->at = op->at;
    k->place = op->place;
    int n = (int)type_count(&op->type);
    op_set_floats(x->out, k, A_value, is_uniform(value, n) ? 1 : n, value);
    return k;
}

static void fold_func(PassContext *c, Module *m, const Func *f)
{
    Fold x = {.c = c,
              .out = func_new(m, f->name),
              .to = arena_new(c->arena, Op *, (size_t)f->ops.n),
              .value = arena_new(c->arena, double *, (size_t)f->ops.n)};
    for_each_op (op, f)
        if (can_fold(&x, op))
            x.value[op->id] = compute(&x, f, op);
    for_each_op (op, f) {
        if (!x.value[op->id] || (!op->noperand && is_used_alive(&x, f, op)))
            x.to[op->id] =
                func_copy_op(x.out, op, op_map_operands(c->arena, op, x.to));
        else if (is_used_alive(&x, f, op))
            x.to[op->id] = add_constant(&x, op, x.value[op->id]);
    }
    func_map_results(x.out, f, x.to);
}

Module *pass_fold(PassContext *c, Module *m)
{
    Module *out = module_new(c->arena, &m->mesh, m->form);
    out->next_id = m->next_id;
    for (int i = 0; i < m->funcs.n; i++)
        fold_func(c, out, m->funcs.at[i]);
    return out;
}
