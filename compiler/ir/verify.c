// Checks every invariant the passes rely on. Runs after each pass.
#include <string.h>

#include "ir/graph.h"
#include "ir/op.h"

static bool verify_attrs(const Op *op, Diag *d)
{
    const OpInfo *info = op_info[op->code];
    if (info->noperand >= 0 && op->noperand != info->noperand) {
        diag_error(d, op->at, "%s: %d operands, wants %d", info->name,
                   op->noperand, info->noperand);
        return false;
    }
    for (const AttrKey *key = info->attrs; *key != A_END; key++) {
        const Attr *a = op_attr(op, *key);
        if (!a) {
            diag_error(d, op->at, "%s: no attribute %s", info->name,
                       attr_name[*key]);
            return false;
        }
        if (a->n < 1 && attr_kind[*key] == ATTR_FLOATS) {
            diag_error(d, op->at, "%s: %s is empty", info->name,
                       attr_name[*key]);
            return false;
        }
    }
    return true;
}

static bool verify_operands(const Func *f, const Op *op, Diag *d)
{
    for (int i = 0; i < op->noperand; i++) {
        const Op *in = op->operand[i];
        if (in->id >= op->id || f->ops.at[in->id] != in) {
            diag_error(d, op->at, "%s: operand %d is not defined before it",
                       op_info[op->code]->name, i);
            return false;
        }
    }
    return true;
}

// An atom may appear once in a sharding; gaps divide the dimension.
static bool verify_sharding(const Func *f, const Op *op, Diag *d)
{
    const Mesh *m = &f->module->mesh;
    AtomSet seen = op->sharding.partial;
    for (int i = 0; i < op->type.rank; i++) {
        const Split *s = &op->sharding.dim[i];
        if (split_atoms(s) & seen) {
            diag_error(d, op->at, "an axis is used twice in a sharding");
            return false;
        }
        seen |= split_atoms(s);
        if (!split_gaps_fit(m, s, op->type.dim[i])) {
            diag_error(d, op->at, "a split with a gap must divide %ld",
                       (long)op->type.dim[i]);
            return false;
        }
    }
    return true;
}

// SHARDED: a collective must do to its operand's sharding what it says.
static bool verify_apply(const Func *f, const Op *op, Diag *d)
{
    Sharding out;
    const OpInfo *info = op_info[op->code];
    if (f->module->form != FORM_sharded || !info->apply)
        return true;
    if (!info->apply(f, op, &out, d))
        return false;
    if (sharding_equal(&out, &op->sharding, op->type.rank))
        return true;
    diag_error(d, op->at,
               "%s: the sharding is not what it makes of its "
               "operand's",
               info->name);
    return false;
}

static bool verify_op(const Func *f, Op *op, Diag *d)
{
    const OpInfo *info = op_info[op->code];
    if (!verify_attrs(op, d) || !verify_operands(f, op, d))
        return false;
    Op inferred = *op;
    if (!info->infer(f, &inferred, d))
        return false;
    if (!type_equal(&inferred.type, &op->type)) {
        diag_error(d, op->at, "%s: type is not the one inferred", info->name);
        return false;
    }
    return verify_sharding(f, op, d) && verify_apply(f, op, d);
}

static bool verify_names(const Func *f, Diag *d)
{
    for (int i = 0; i < f->ops.n; i++)
        for (int k = 0; k < i && f->ops.at[i]->name; k++)
            if (f->ops.at[k]->name &&
                strcmp(f->ops.at[k]->name, f->ops.at[i]->name) == 0) {
                diag_error(d, f->ops.at[i]->at, "%%%s is defined twice",
                           f->ops.at[i]->name);
                return false;
            }
    return true;
}

bool module_verify(const Module *m, Diag *d)
{
    bool ok = m->funcs.n > 0;
    if (!ok)
        diag_error(d, (Span){0}, "the module has no function");
    for (int i = 0; i < m->funcs.n; i++) {
        const Func *f = m->funcs.at[i];
        for_each_op (op, f)
            ok &= verify_op(f, op, d);
        ok &= verify_names(f, d);
    }
    return ok;
}
