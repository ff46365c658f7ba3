// Between the shardings of tensors and the splits of an op's factors.
#pragma once

#include "ir/op.h"

// A carrier is an operand, counted from 1 so that zero is empty.
enum {
    ALL_OPERANDS = 0,
};

// How an op is computed: each factor's split, and the atoms over which its
// operands' pending sums are carried through to the result.
// Few ops have many factors, so a placement that is kept has no memory beyond
// its rule's: it is made by placement_new and copied by placement_copy.
typedef struct Placement {
    AtomSet carried;
    int carrier; // the operand they are pending in; ALL_OPERANDS: in each
    Split factor[MAX_FACTORS];
} Placement;

Placement *placement_new(Arena *a, const Rule *r); // r: NULL if no factors
void placement_copy(Placement *to, const Placement *from, const Rule *r);

// The splits that a tensor's sharding means for the factors of its dimensions
// (tensor t of the rule). What does not fit a factor (an atom that does not
// divide one that some tensor has inside a merged dimension, any split of a
// whole factor, a gap in a positional one) is dropped, with all that follows.
void factors_from_sharding(const Mesh *m, const Rule *r, int t, int rank,
                           const Sharding *s, Split out[MAX_FACTORS]);

// The sharding of tensor t under a placement of the op.
void sharding_from_factors(const Mesh *m, const Rule *r, int t, int rank,
                           const Placement *p, Sharding *out);

// The same for an operand or, with t == op->noperand, the result; pending
// sums included.
// place_tensor fills in no more than the tensor's dimensions.
void place_tensor(const Mesh *m, const Op *op, const Rule *r, int t,
                  const Placement *p, Sharding *out);
Sharding placement_of(const Mesh *m, const Op *op, const Rule *r, int t,
                      const Placement *p);

// The type that op's result has while it is placed as s: a pending sum of bf16
// addends is held and combined in f32, and rounded once, when it is whole. So
// the devices give the number that one device gives. (A lookup has one addend
// that is not zero and needs no more.)
Type pending_type(const Op *op, const Rule *r, const Sharding *s);
