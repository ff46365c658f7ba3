// Helpers that op definitions share.
#pragma once

#include "ir/op.h"

// A one-to-one rule: dimension i of every tensor is factor i.
void rule_pointwise(const Op *op, Rule *r);
// Dimension `dim` of tensor t is one factor.
void rule_set(Rule *r, int t, int dim, int factor);
// Adds a factor; the limit is checked by infer through MAX_FACTORS.
int rule_add(Rule *r, int64_t size, FactorKind kind);

double scalar_first(const Op *op, const double x[]);

// Reports at the op, with its name in front; returns false.
bool op_fail(const Op *op, Diag *d, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
// Whether attribute `key` is a dimension of a tensor of that rank.
bool check_dim(const Op *op, AttrKey key, int rank, Diag *d);
// Whether attribute `key` lists distinct dimensions of a tensor of that rank.
bool check_dims(const Op *op, AttrKey key, int rank, Diag *d);
// Whether all operands have one shape; one type.
bool check_same_shapes(const Op *op, Diag *d);
bool check_same_types(const Op *op, Diag *d);
bool ints_have(const Attr *a, int64_t i);

// What gradients read of an op: its result, as an operand.
static inline Op *op_value(const Op *op)
{
    return (Op *)op;
}

// Strides in elements of a row-major tensor.
void type_strides(const Type *t, int64_t stride[MAX_RANK]);

// LOCAL: where the device's part of the positional factor starts, in entries,
// if `local` of them are here. 0 without `offset`.
int64_t op_offset(const Func *f, const Op *op, int64_t device, int64_t local);
// The number of the piece that a device holds under a split without gaps.
int64_t split_piece(const Mesh *m, const Split *s, int64_t device);
