#include "op/util.h"

#include <stdarg.h>
#include <stdio.h>

void rule_set(Rule *r, int t, int dim, int factor)
{
    r->dim[t][dim].n = 1;
    r->dim[t][dim].factor[0] = (int8_t)factor;
}

int rule_add(Rule *r, int64_t size, FactorKind kind)
{
    r->size[r->nfactor] = size;
    r->kind[r->nfactor] = kind;
    return r->nfactor++;
}

void rule_pointwise(const Op *op, Rule *r)
{
    *r = (Rule){0};
    for (int i = 0; i < op->type.rank; i++) {
        rule_add(r, op->type.dim[i], FACTOR_PASS);
        for (int t = 0; t <= op->noperand; t++)
            rule_set(r, t, i, i);
    }
}

double scalar_first(const Op *op, const double x[])
{
    (void)op;
    return x[0];
}

bool op_fail(const Op *op, Diag *d, const char *fmt, ...)
{
    char message[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(message, sizeof message, fmt, ap);
    va_end(ap);
    diag_error(d, op->at, "%s: %s", op_info[op->code]->name, message);
    return false;
}

bool check_dim(const Op *op, AttrKey key, int rank, Diag *d)
{
    int64_t dim = op_int(op, key, -1);
    if (dim >= 0 && dim < rank)
        return true;
    return op_fail(op, d, "%s=%ld is no dimension of a tensor of rank %d",
                   attr_name[key], (long)dim, rank);
}

bool check_dims(const Op *op, AttrKey key, int rank, Diag *d)
{
    const Attr *a = op_attr(op, key);
    unsigned seen = 0;
    for (int i = 0; i < a->n; i++) {
        int64_t dim = a->ints[i];
        if (dim < 0 || dim >= rank || seen >> dim & 1)
            return op_fail(op, d, "%s: %ld is out of range or there twice",
                           attr_name[key], (long)dim);
        seen |= 1u << dim;
    }
    return true;
}

bool check_same_shapes(const Op *op, Diag *d)
{
    for (int i = 1; i < op->noperand; i++)
        if (!type_same_shape(&op->operand[0]->type, &op->operand[i]->type))
            return op_fail(op, d, "operands 0 and %d differ in shape", i);
    return true;
}

bool check_same_types(const Op *op, Diag *d)
{
    if (!check_same_shapes(op, d))
        return false;
    for (int i = 1; i < op->noperand; i++)
        if (op->operand[i]->type.dtype != op->operand[0]->type.dtype)
            return op_fail(op, d, "operands are %s and %s",
                           dtype_name[op->operand[0]->type.dtype],
                           dtype_name[op->operand[i]->type.dtype]);
    return true;
}

bool ints_have(const Attr *a, int64_t i)
{
    for (int k = 0; k < a->n; k++)
        if (a->ints[k] == i)
            return true;
    return false;
}

void type_strides(const Type *t, int64_t stride[MAX_RANK])
{
    int64_t step = 1;
    for (int i = t->rank - 1; i >= 0; i--) {
        stride[i] = step;
        step *= t->dim[i];
    }
}

int64_t split_piece(const Mesh *m, const Split *s, int64_t device)
{
    int64_t piece = 0;
    for (int i = 0; i < s->n; i++)
        piece = piece * m->atom[s->item[i]].size +
                mesh_coord(m, device, s->item[i]);
    return piece;
}

int64_t op_offset(const Func *f, const Op *op, int64_t device, int64_t local)
{
    const Attr *a = op_attr(op, A_offset);
    return a ? split_piece(&f->module->mesh, a->split, device) * local : 0;
}
