// Dead code elimination: keeps params and what the results reach.
#include "ir/op.h"
#include "pass/pass.h"

static Func *sweep_func(PassContext *c, Module *m, const Func *f)
{
    bool *live = arena_new(c->arena, bool, (size_t)f->ops.n);
    for (int i = 0; i < f->results.n; i++)
        live[f->results.at[i]->id] = true;
    for (int i = f->ops.n - 1; i >= 0; i--) {
        const Op *op = f->ops.at[i];
        live[i] |= op_role(op) == ROLE_argument;
        for (int j = 0; live[i] && j < op->noperand; j++)
            live[op->operand[j]->id] = true;
    }
    Func *out = func_new(m, f->name);
    Op **to = arena_new(c->arena, Op *, (size_t)f->ops.n); // old id -> new op
    for_each_op (op, f)
        if (live[op->id])
            to[op->id] =
                func_copy_op(out, op, op_map_operands(c->arena, op, to));
    func_map_results(out, f, to);
    return out;
}

Module *pass_dce(PassContext *c, Module *m)
{
    Module *out = module_new(c->arena, &m->mesh, m->form);
    out->next_id = m->next_id;
    for (int i = 0; i < m->funcs.n; i++)
        sweep_func(c, out, m->funcs.at[i]);
    return out;
}
