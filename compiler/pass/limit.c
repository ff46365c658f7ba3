// Which inputs index a table: their values must be below its size.
#include "pass/partition.h"

#include "ir/op.h"

static bool has_factor(const Rule *r, int t, int rank, int factor)
{
    for (int i = 0; i < rank; i++)
        for (int k = 0; k < r->dim[t][i].n; k++)
            if (r->dim[t][i].factor[k] == factor)
                return true;
    return false;
}

// The size of the table that operand t of op indexes, or 0.
static int64_t table_size(const Op *op, int t)
{
    Rule r;
    if (!op_info[op->code]->rule)
        return 0;
    op_info[op->code]->rule(op, &r);
    for (int f = 0; f < r.nfactor; f++)
        if (r.kind[f] == FACTOR_LOOKUP &&
            !has_factor(&r, t, op->operand[t]->type.rank, f))
            return r.size[f];
    return 0;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return !a || (b && b < a) ? b : a;
}

// Follows what only moves the value; a scan's body is walked as well.
int64_t param_limit(const Func *f, const Op *param)
{
    int64_t limit = 0;
    for_each_op (op, f) {
        for (int t = 0; t < op->noperand; t++) {
            if (op->operand[t] != param)
                continue;
            Role role = op_role(op);
            if (role == ROLE_wish || role == ROLE_reshard ||
                role == ROLE_collective)
                limit = smaller(limit, param_limit(f, op));
            else if (role == ROLE_loop) {
                const Func *body = module_find(f->module, op_str(op, A_body));
                limit = smaller(limit, param_limit(body, body->ops.at[t]));
            } else
                limit = smaller(limit, table_size(op, t));
        }
    }
    return limit;
}
