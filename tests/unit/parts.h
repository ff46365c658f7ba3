// Whole tensors cut into the devices' parts, and compared with them.
#pragma once

#include "ir/interp.h"
#include "ir/op.h"

// Distinct values, so that a misplaced entry is seen.
double *distinct(Arena *a, const Type *t, unsigned seed);

// The part of each device: out[device]. Padding is zero. Of a pending sum,
// each device of a group gets a part; they differ and combine to it.
double **scatter(Arena *a, const Mesh *m, const Type *t, const Sharding *s,
                 const double *whole);

// Whether entry i of a device's part stands for none of the whole tensor.
bool is_padding(const Mesh *m, const Type *t, const Sharding *s, int64_t device,
                int64_t i);

// The largest difference between the devices' parts and what they should be;
// padding does not count.
double difference(const Mesh *m, const Type *t, const Sharding *s,
                  const double *whole, double *const part[]);
