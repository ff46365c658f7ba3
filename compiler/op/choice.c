// Comparison, and choice between two values entry by entry.
#include <string.h>

#include "ir/build.h"
#include "op/util.h"

static const char *const directions[] = {"eq", "ne", "lt", "le", "gt", "ge"};

static int direction(const Op *op)
{
    int i = 0;
    while (i < 6 && strcmp(directions[i], op_str(op, A_dir)) != 0)
        i++;
    return i;
}

static bool infer_compare(const Func *f, Op *op, Diag *d)
{
    (void)f;
    if (!check_same_types(op, d))
        return false;
    op->type = op->operand[0]->type;
    op->type.dtype = DT_bool;
    return direction(op) < 6 ||
           op_fail(op, d, "no direction is called %s", op_str(op, A_dir));
}

static double scalar_compare(const Op *op, const double x[])
{
    switch (direction(op)) {
    case 0: return x[0] == x[1];
    case 1: return x[0] != x[1];
    case 2: return x[0] < x[1];
    case 3: return x[0] <= x[1];
    case 4: return x[0] > x[1];
    default: return x[0] >= x[1];
    }
}

const OpInfo op_compare = {
    .name = "compare",
    .noperand = 2,
    .attrs = {A_dir, A_END},
    .infer = infer_compare,
    .rule = rule_pointwise,
    .scalar = scalar_compare,
};

static bool infer_select(const Func *f, Op *op, Diag *d)
{
    (void)f;
    if (!check_same_shapes(op, d))
        return false;
    op->type = op->operand[1]->type;
    if (op->operand[0]->type.dtype != DT_bool)
        return op_fail(op, d, "operand 0 must be bool");
    return op->operand[2]->type.dtype == op->type.dtype ||
           op_fail(op, d, "operands 1 and 2 differ in type");
}

static double scalar_select(const Op *op, const double x[])
{
    (void)op;
    return x[0] != 0 ? x[1] : x[2];
}

static void grad_select(Func *f, const Op *op, Op *ct, Op *out[])
{
    Op *zero = build_like(f, ct, 0);
    out[1] = build_select(f, op->operand[0], ct, zero);
    out[2] = build_select(f, op->operand[0], zero, ct);
}

const OpInfo op_select = {
    .name = "select",
    .noperand = 3,
    .attrs = {A_END},
    .infer = infer_select,
    .grad = grad_select,
    .rule = rule_pointwise,
    .scalar = scalar_select,
};
