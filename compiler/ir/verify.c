// Checks every invariant the passes rely on. Runs after each pass.
#include <stdlib.h>
#include <string.h>

#include "ir/graph.h"
#include "ir/verify.h"

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
        if (!split_is_distinct(s)) {
            diag_error(d, op->at, "an axis stands twice in a split");
            return false;
        }
        if (!split_gaps_fit(m, s, op->type.dim[i])) {
            diag_error(d, op->at, "a split with a gap must divide %ld",
                       (long)op->type.dim[i]);
            return false;
        }
    }
    return true;
}

// Which roles an op may have in a form.
static bool verify_form(const Func *f, const Op *op, Diag *d)
{
    static const bool allowed[NFORM][NROLE] = {
        [FORM_global] = {[ROLE_compute] = true,
                         [ROLE_argument] = true,
                         [ROLE_wish] = true,
                         [ROLE_result] = true,
                         [ROLE_call] = true,
                         [ROLE_grad] = true,
                         [ROLE_loop] = true},
        [FORM_sharded] = {[ROLE_compute] = true,
                          [ROLE_argument] = true,
                          [ROLE_reshard] = true,
                          [ROLE_collective] = true,
                          [ROLE_result] = true,
                          [ROLE_loop] = true},
        [FORM_local] = {[ROLE_compute] = true,
                        [ROLE_argument] = true,
                        [ROLE_collective] = true,
                        [ROLE_result] = true,
                        [ROLE_loop] = true},
    };
    Form form = f->module->form;
    Role role = op_role(op);
    bool may_be_placed =
        form == FORM_sharded ||
        (form == FORM_global && (role == ROLE_argument || role == ROLE_wish));
    if (!allowed[form][role])
        diag_error(d, op->at, "%s has no place in form %s",
                   op_info[op->code]->name, form_name[form]);
    else if (!may_be_placed && !sharding_is_whole(&op->sharding, op->type.rank))
        diag_error(d, op->at, "%s: no sharding stands here in form %s",
                   op_info[op->code]->name, form_name[form]);
    else
        return true;
    return false;
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
    if (!verify_attrs(op, d) || !verify_operands(f, op, d) ||
        !verify_form(f, op, d))
        return false;
    Op inferred = *op;
    if (!info->infer(f, &inferred, d))
        return false;
    if (!type_equal(&inferred.type, &op->type)) {
        diag_error(d, op->at, "%s: type is not the one inferred", info->name);
        return false;
    }
    if (!verify_sharding(f, op, d) || !verify_apply(f, op, d))
        return false;
    return f->module->form != FORM_sharded || verify_placed(f, op, d);
}

// FNV-1a.
static size_t hash_of(const char *s)
{
    uint64_t h = 0xcbf29ce484222325u;
    while (*s)
        h = (h ^ (unsigned char)*s++) * 0x100000001b3u;
    return (size_t)(h ^ h >> 32);
}

static bool verify_names(const Func *f, Diag *d)
{
    size_t size = 16;
    while (size < 2 * (size_t)f->ops.n)
        size *= 2;
    const char **seen = calloc(size, sizeof *seen); // by hash
    for (int i = 0; i < f->ops.n && seen; i++) {
        const char *name = f->ops.at[i]->name;
        if (!name)
            continue;
        size_t k = hash_of(name) & (size - 1);
        while (seen[k] && strcmp(seen[k], name) != 0)
            k = (k + 1) & (size - 1);
        if (seen[k]) {
            diag_error(d, f->ops.at[i]->at, "%%%s is defined twice", name);
            free(seen);
            return false;
        }
        seen[k] = name;
    }
    free(seen);
    return true;
}

// Outputs have names of their own; no result is pending.
static bool verify_results(const Func *f, Diag *d)
{
    bool ok = true;
    for (int i = 0; i < f->results.n; i++) {
        if (f->module->form == FORM_sharded &&
            f->results.at[i]->sharding.partial) {
            diag_error(d, f->results.at[i]->at,
                       "a result of @%s is pending: combine it", f->name);
            ok = false;
        }
        for (int k = 0; k < i && i < f->result_names.n; k++) {
            if (strcmp(f->result_names.at[i], f->result_names.at[k]) == 0) {
                diag_error(d, f->results.at[i]->at, "two results are called %s",
                           f->result_names.at[i]);
                ok = false;
            }
        }
    }
    return ok;
}

// A collective's number is its own in the module.
static bool verify_ids(const Module *m, Diag *d)
{
    enum { MAX_IDS = 1 << 16 };
    uint8_t seen[MAX_IDS / 8] = {0};
    bool ok = true;
    for (int i = 0; i < m->funcs.n; i++) {
        for_each_op (op, m->funcs.at[i]) {
            int64_t id = op_int(op, A_id, 0);
            if (id <= 0 || id >= MAX_IDS)
                continue;
            if (seen[id / 8] >> id % 8 & 1) {
                diag_error(d, op->at, "two collectives have id %ld", (long)id);
                ok = false;
            }
            seen[id / 8] |= (uint8_t)(1 << id % 8);
        }
    }
    return ok;
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
        ok &= verify_results(f, d);
    }
    return ok && verify_ids(m, d);
}
