// SHARDED: every op's sharding must follow from its operands' by its rule.
//
// The splits of an op's factors are read off its tensors; then every tensor
// must be placed as they say. So operands of one factor agree, a contracted
// split leaves a pending result, and a pending sum reaches only ops that are
// linear in it.
#include "ir/factor.h"
#include "ir/loop.h"
#include "ir/verify.h"

static const Op *tensor(const Op *op, int t)
{
    return t < op->noperand ? op->operand[t] : op;
}

static void read_factors(const Mesh *m, const Op *op, const Rule *r,
                         Placement *p)
{
    for (int t = 0; t <= op->noperand; t++) {
        Split of[MAX_FACTORS] = {0};
        const Op *v = tensor(op, t);
        factors_from_sharding(m, r, t, v->type.rank, &v->sharding, of);
        for (int f = 0; f < r->nfactor; f++)
            if (of[f].n && !p->factor[f].n)
                p->factor[f] = of[f];
    }
}

// The pending sums that go through; false if the op cannot carry them.
static bool read_carried(const Op *op, Placement *p, Diag *d)
{
    Linear linear = op_linear(op);
    int npending = 0;
    bool fits = true;
    for (int t = 0; t < op->noperand; t++) {
        const Sharding *s = &op->operand[t]->sharding;
        fits &= !s->partial || s->combiner == COMBINE_sum;
        if (!s->partial)
            continue;
        npending++;
        p->carried = s->partial;
        p->carrier = linear == LINEAR_ANY ? t + 1 : ALL_OPERANDS;
    }
    if (npending && linear == LINEAR_ALL)
        fits &= npending == op->noperand;
    else
        fits &= npending == 0 || (npending == 1 && linear == LINEAR_ANY);
    if (!fits)
        diag_error(d, op->at,
                   "%s: an operand is pending that must be combined "
                   "first",
                   op_info[op->code]->name);
    return fits;
}

static bool expect(const Func *f, const Op *op, const Op *v,
                   const Sharding *want, Diag *d)
{
    Arena *a = f->module->arena;
    const Mesh *m = &f->module->mesh;
    if (sharding_equal(&v->sharding, want, v->type.rank))
        return true;
    diag_error(d, op->at, "%s: %s is placed as %s, and must be as %s",
               op_info[op->code]->name, v == op ? "the result" : "an operand",
               type_string(a, m, &v->type, &v->sharding),
               type_string(a, m, &v->type, want));
    return false;
}

static bool verify_loop(const Func *f, const Op *op, Diag *d)
{
    Loop l = loop_of(f->module, op);
    bool ok = true;
    for (int t = 0; t < op->noperand; t++) {
        const Op *value = op->operand[t];
        Sharding in = value->sharding;
        if (loop_stacks_operand(&l, t)) {
            in = sharding_of_slice(&in, value->type.rank);
            if (value->sharding.dim[0].n) {
                diag_error(d, op->at,
                           "scan: a stack is split along its layers");
                ok = false;
            }
        }
        ok &= expect(f, op, l.body->ops.at[t], &in, d);
    }
    for (int i = 0; i < l.carry; i++)
        ok &= expect(f, op, l.body->results.at[i], &l.body->ops.at[i]->sharding,
                     d);
    return ok;
}

// A loop's result has the placement that the body leaves it in.
static bool verify_result(const Func *f, const Op *op, Diag *d)
{
    int index = 0;
    const Op *of = op_role(op) == ROLE_result ? result_loop(op, &index) : op;
    Loop l = loop_of(f->module, of);
    const Op *left = l.body->results.at[index];
    Sharding want = left->sharding;
    if (loop_stacks_result(&l, index))
        want = sharding_of_stack(&want, left->type.rank);
    return expect(f, op, op, &want, d);
}

bool verify_placed(const Func *f, const Op *op, Diag *d)
{
    Rule r;
    Placement p = {0};
    const OpInfo *info = op_info[op->code];
    if (op_role(op) == ROLE_loop)
        return verify_loop(f, op, d) && verify_result(f, op, d);
    if (op_role(op) == ROLE_result)
        return verify_result(f, op, d);
    if (op_role(op) != ROLE_compute || !info->rule)
        return true;
    info->rule(op, &r);
    read_factors(&f->module->mesh, op, &r, &p);
    if (!read_carried(op, &p, d))
        return false;
    for (int t = 0; t <= op->noperand; t++) {
        Sharding want = placement_of(&f->module->mesh, op, &r, t, &p);
        if (!expect(f, op, tensor(op, t), &want, d))
            return false;
    }
    return true;
}
