// Loops over a stack of layers, as the op `scan` has them.
//
// Operands: carried values, invariants, then stacked values whose leading
// dimension is sliced off for each iteration. The body takes them in that
// order and returns the carried values and then what each iteration leaves
// behind, which is stacked. Result 0 is the op; the op `result` is another.
#pragma once

#include "ir/graph.h"

typedef struct Loop {
    const Op *op;
    Func *body;
    int64_t trip;
    int carry;
    int first_stacked; // the operands from here on are stacks
    bool is_reverse;   // from the last slice to the first
} Loop;

// op: a scan whose body is there.
Loop loop_of(const Module *m, const Op *op);
// The loop that a `result` is of, with its index.
const Op *result_loop(const Op *op, int *index);

static inline bool loop_stacks_operand(const Loop *l, int i)
{
    return i >= l->first_stacked;
}

static inline bool loop_stacks_result(const Loop *l, int i)
{
    return i >= l->carry;
}

// Between a stack and one slice of it; a stack is whole along the layers.
Type type_of_slice(const Type *stack);
Type type_of_stack(const Type *slice, int64_t trip);
Sharding sharding_of_slice(const Sharding *stack, int rank); // of the stack
Sharding sharding_of_stack(const Sharding *slice, int rank); // of the slice
