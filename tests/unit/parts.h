// Whole tensors cut into the devices' parts, and compared with them.
#pragma once

#include "ir/interp.h"
#include "ir/op.h"

// Distinct values, so that a misplaced entry is seen.
double *distinct(Arena *a, const Type *t, unsigned seed);

// The part of each device: out[device]. Padding is zero. Of a pending sum,
// each device of a group gets an addend; they are uneven and add up.
double **scatter(Arena *a, const Mesh *m, const Type *t, const Sharding *s,
                 const double *whole);

// The largest difference between the devices' parts and what they should be;
// padding does not count.
double difference(const Mesh *m, const Type *t, const Sharding *s,
                  const double *whole, double *const part[]);
