// Appending ops whose types are known to fit: for gradients and passes. Types
// are inferred; the result has no name, no place and no sharding yet.
#pragma once

#include "ir/graph.h"

// An op without attributes.
Op *build(Func *f, OpCode code, int n, Op *const operand[]);
Op *build_unary(Func *f, OpCode code, Op *x);
Op *build_binary(Func *f, OpCode code, Op *x, Op *y);
Op *build_compare(Func *f, const char *dir, Op *x, Op *y);
Op *build_select(Func *f, Op *which, Op *x, Op *y);
Op *build_constant(Func *f, const Type *t, double x);
// `x` everywhere in the shape and type of an op.
Op *build_like(Func *f, const Op *like, double x);
Op *build_zeros(Func *f, const Type *t);
Op *build_scale(Func *f, Op *x, double by);
// Nothing if x has the type already.
Op *build_convert(Func *f, Op *x, DType to);
// dims[i]: where dimension i of x goes in a result of that shape.
Op *build_broadcast(Func *f, Op *x, const Type *to, const int64_t dims[]);
// code: reduce_sum, reduce_max or reduce_min. Nothing if n is 0.
Op *build_reduce(Func *f, OpCode code, Op *x, int n, const int64_t dims[]);
Op *build_cumsum(Func *f, Op *x, int dim, bool is_reverse);
Op *build_transpose(Func *f, Op *x, const int64_t dims[]);
Op *build_reshape(Func *f, Op *x, const Type *to);
Op *build_slice(Func *f, Op *x, const int64_t lo[], const int64_t hi[]);
// Zeros in front of dimension dim and behind it.
Op *build_pad(Func *f, Op *x, int dim, int64_t low, int64_t high);
Op *build_concat(Func *f, int dim, int n, Op *const part[]);
// dtype: "f32" for a product of bf16 that is not rounded, or NULL.
Op *build_einsum(Func *f, const char *spec, Op *x, Op *y, const char *dtype);
Op *build_iota(Func *f, const Type *t, int dim);
// Result `index` of a loop; the loop itself for 0.
Op *build_result(Func *f, Op *loop, int index);
// The value placed as `s`, as a wish.
Op *build_shard(Func *f, Op *x, const Sharding *s);
// x + y; a NULL is nothing.
Op *build_sum(Func *f, Op *x, Op *y);
