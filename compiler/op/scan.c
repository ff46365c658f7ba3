// Ops that run a function: a loop, one with a backward of its own, a gradient.
//
// They have no rule: passes walk into the function.
#include "ir/loop.h"
#include "op/util.h"

static bool check_body(const Loop *l, Diag *d)
{
    const Op *op = l->op;
    const Func *body = l->body;
    if (body->nparam != op->noperand || body->results.n < l->carry)
        return op_fail(op, d, "@%s takes %d values and returns %d", body->name,
                       body->nparam, body->results.n);
    for (int i = 0; i < op->noperand; i++) {
        Type want = op->operand[i]->type;
        bool is_stacked = loop_stacks_operand(l, i);
        if (is_stacked && (!want.rank || want.dim[0] != l->trip))
            return op_fail(op, d, "operand %d is no stack of %ld", i,
                           (long)l->trip);
        if (is_stacked)
            want = type_of_slice(&want);
        if (!type_equal(&want, &body->ops.at[i]->type))
            return op_fail(op, d, "operand %d does not fit parameter %%%s", i,
                           body->ops.at[i]->name);
    }
    for (int i = 0; i < body->results.n; i++) {
        const Type *t = &body->results.at[i]->type;
        if (!loop_stacks_result(l, i) && !type_equal(t, &body->ops.at[i]->type))
            return op_fail(op, d, "@%s changes the type of what it carries",
                           body->name);
        if (loop_stacks_result(l, i) && t->rank == MAX_RANK)
            return op_fail(op, d, "result %d has no room for one dimension", i);
    }
    return true;
}

static const Func *find_body(const Func *f, const Op *op, AttrKey key, Diag *d)
{
    const Func *body = module_find(f->module, op_str(op, key));
    if (body && body != f)
        return body;
    op_fail(op, d, "no function @%s stands before it", op_str(op, key));
    return NULL;
}

static Type result_type(const Loop *l, int i)
{
    const Type *t = &l->body->results.at[i]->type;
    return loop_stacks_result(l, i) ? type_of_stack(t, l->trip) : *t;
}

static bool infer_scan(const Func *f, Op *op, Diag *d)
{
    if (!find_body(f, op, A_body, d))
        return false;
    Loop l = loop_of(f->module, op);
    if (l.carry < 0 || l.carry > l.first_stacked || l.first_stacked < 0 ||
        l.first_stacked > op->noperand)
        return op_fail(op, d, "too few operands");
    if (l.trip < 0)
        return op_fail(op, d, "trip=%ld", (long)l.trip);
    if (l.body->results.n < 1)
        return op_fail(op, d, "@%s returns nothing", l.body->name);
    if (!check_body(&l, d))
        return false;
    op->type = result_type(&l, 0);
    return true;
}

const OpInfo op_scan = {
    .name = "scan",
    .role = ROLE_loop,
    .noperand = -1,
    .attrs = {A_body, A_trip, A_carry, A_stacked, A_END},
    .infer = infer_scan,
};

// A result of a gradient: the gradient of the wrt'th operand, counted from 1.
static bool infer_gradient(Op *op, int64_t index, Diag *d)
{
    const Op *of = op->operand[0];
    const Attr *wrt = op_attr(of, A_wrt);
    if (index > wrt->n)
        return op_fail(op, d, "index=%ld of %d gradients", (long)index, wrt->n);
    op->type = of->operand[wrt->ints[index - 1]]->type;
    return true;
}

static bool infer_result(const Func *f, Op *op, Diag *d)
{
    const Op *of = op->operand[0];
    int64_t index = op_int(op, A_index, 0);
    if (index < 1)
        return op_fail(op, d, "index=%ld; the first result is the op itself",
                       (long)index);
    if (op_role(of) == ROLE_grad)
        return infer_gradient(op, index, d);
    if (op_role(of) != ROLE_loop)
        return op_fail(op, d, "%s has one result", op_info[of->code]->name);
    Loop l = loop_of(f->module, of);
    if (index >= l.body->results.n)
        return op_fail(op, d, "index=%ld of %d results", (long)index,
                       l.body->results.n);
    op->type = result_type(&l, (int)index);
    return true;
}

const OpInfo op_result = {
    .name = "result",
    .role = ROLE_result,
    .noperand = 1,
    .attrs = {A_index, A_END},
    .infer = infer_result,
};

static bool check_arguments(const Op *op, const Func *body, Diag *d)
{
    if (body->nparam != op->noperand || body->results.n < 1)
        return op_fail(op, d, "@%s takes %d values and returns %d", body->name,
                       body->nparam, body->results.n);
    for (int i = 0; i < op->noperand; i++)
        if (!type_equal(&op->operand[i]->type, &body->ops.at[i]->type))
            return op_fail(op, d, "operand %d does not fit parameter %%%s", i,
                           body->ops.at[i]->name);
    return true;
}

// backward: takes the operands, the result and its cotangent; returns the
// cotangents of the float operands in order.
static bool check_backward(const Func *f, const Op *op, Diag *d)
{
    const Func *back = find_body(f, op, A_backward, d);
    int n = op->noperand, k = 0;
    if (!back)
        return false;
    if (back->nparam != n + 2)
        return op_fail(op, d, "@%s takes %d values, wants %d", back->name,
                       back->nparam, n + 2);
    for (int i = 0; i < n + 2; i++) {
        const Type *want = i < n ? &op->operand[i]->type : &op->type;
        if (!type_equal(want, &back->ops.at[i]->type))
            return op_fail(op, d, "parameter %%%s of @%s does not fit",
                           back->ops.at[i]->name, back->name);
    }
    for (int i = 0; i < n; i++) {
        if (!dtype_is_float(op->operand[i]->type.dtype))
            continue;
        if (k == back->results.n ||
            !type_equal(&back->results.at[k]->type, &op->operand[i]->type))
            return op_fail(op, d, "@%s returns no cotangent of operand %d",
                           back->name, i);
        k++;
    }
    return k == back->results.n ||
           op_fail(op, d, "@%s returns %d values, wants %d", back->name,
                   back->results.n, k);
}

static bool infer_call(const Func *f, Op *op, Diag *d)
{
    const Func *body = find_body(f, op, A_body, d);
    if (!body || !check_arguments(op, body, d))
        return false;
    op->type = body->results.at[0]->type;
    return check_backward(f, op, d);
}

const OpInfo op_call = {
    .name = "call",
    .role = ROLE_call,
    .noperand = -1,
    .attrs = {A_body, A_backward, A_END},
    .infer = infer_call,
};

// The first result of the body, one number, and its gradients.
static bool infer_grad(const Func *f, Op *op, Diag *d)
{
    const Func *body = find_body(f, op, A_body, d);
    const Attr *wrt = op_attr(op, A_wrt);
    if (!body || !check_arguments(op, body, d))
        return false;
    op->type = body->results.at[0]->type;
    if (op->type.rank || op->type.dtype != DT_f32)
        return op_fail(op, d, "@%s returns no single f32", body->name);
    for (int i = 0; i < wrt->n; i++) {
        int64_t k = wrt->ints[i];
        if (k < 0 || k >= op->noperand || (i && k <= wrt->ints[i - 1]))
            return op_fail(op, d, "wrt: %ld is no operand, or out of order",
                           (long)k);
        if (!dtype_is_float(op->operand[k]->type.dtype))
            return op_fail(op, d, "operand %ld is not float", (long)k);
    }
    return true;
}

const OpInfo op_grad = {
    .name = "grad",
    .role = ROLE_grad,
    .noperand = -1,
    .attrs = {A_body, A_wrt, A_END},
    .infer = infer_grad,
};
