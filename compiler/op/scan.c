// scan: a loop over a stack of layers.
//
// Operands: carried values, invariants, then stacked values whose leading
// dimension (trip) is sliced off for each iteration. The body takes them in
// that order and returns the carried values. It has no rule: passes walk into
// the body.
#include "op/util.h"

static bool check_body(const Op *op, const Func *body, int carry, int stacked,
                       Diag *d)
{
    if (body->nparam != op->noperand || body->results.n != carry)
        return op_fail(op, d, "@%s takes %d values and returns %d", body->name,
                       body->nparam, body->results.n);
    for (int i = 0; i < op->noperand; i++) {
        Type want = op->operand[i]->type;
        bool is_stacked = i >= op->noperand - stacked;
        if (is_stacked && (!want.rank || want.dim[0] != op_int(op, A_trip, 0)))
            return op_fail(op, d, "operand %d is no stack of %ld", i,
                           (long)op_int(op, A_trip, 0));
        if (is_stacked) {
            want.rank--;
            for (int k = 0; k < want.rank; k++)
                want.dim[k] = want.dim[k + 1];
        }
        if (!type_equal(&want, &body->ops.at[i]->type))
            return op_fail(op, d, "operand %d does not fit parameter %%%s", i,
                           body->ops.at[i]->name);
    }
    for (int i = 0; i < carry; i++)
        if (!type_equal(&body->results.at[i]->type, &body->ops.at[i]->type))
            return op_fail(op, d, "@%s changes the type of what it carries",
                           body->name);
    return true;
}

static bool infer_scan(const Func *f, Op *op, Diag *d)
{
    const Func *body = module_find(f->module, op_str(op, A_body));
    int64_t carry = op_int(op, A_carry, 0), stacked = op_int(op, A_stacked, 0);
    if (!body || body == f)
        return op_fail(op, d, "no function @%s stands before it",
                       op_str(op, A_body));
    if (carry != 1)
        return op_fail(op, d, "carry=%ld: one carried value is supported",
                       (long)carry);
    if (stacked < 0 || carry + stacked > op->noperand)
        return op_fail(op, d, "too few operands");
    if (op_int(op, A_trip, 0) < 0)
        return op_fail(op, d, "trip=%ld", (long)op_int(op, A_trip, 0));
    if (!check_body(op, body, (int)carry, (int)stacked, d))
        return false;
    op->type = op->operand[0]->type;
    return true;
}

const OpInfo op_scan = {
    .name = "scan",
    .role = ROLE_loop,
    .noperand = -1,
    .attrs = {A_body, A_trip, A_carry, A_stacked, A_END},
    .infer = infer_scan,
};
