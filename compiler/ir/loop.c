#include "ir/loop.h"

Loop loop_of(const Module *m, const Op *op)
{
    return (Loop){
        .op = op,
        .body = module_find(m, op_str(op, A_body)),
        .trip = op_int(op, A_trip, 0),
        .carry = (int)op_int(op, A_carry, 0),
        .first_stacked = op->noperand - (int)op_int(op, A_stacked, 0),
        .is_reverse = op_int(op, A_reverse, 0) != 0,
    };
}

const Op *result_loop(const Op *op, int *index)
{
    *index = (int)op_int(op, A_index, 0);
    return op->operand[0];
}

Type type_of_slice(const Type *stack)
{
    Type t = *stack;
    t.rank--;
    for (int i = 0; i < t.rank; i++)
        t.dim[i] = stack->dim[i + 1];
    return t;
}

Type type_of_stack(const Type *slice, int64_t trip)
{
    Type t = *slice;
    t.dim[t.rank++] = 0;
    for (int i = slice->rank; i > 0; i--)
        t.dim[i] = slice->dim[i - 1];
    t.dim[0] = trip;
    return t;
}

Sharding sharding_of_slice(const Sharding *stack, int rank)
{
    Sharding s = {0};
    for (int i = 1; i < rank; i++)
        s.dim[i - 1] = stack->dim[i];
    return s;
}

Sharding sharding_of_stack(const Sharding *slice, int rank)
{
    Sharding s = {0};
    for (int i = 0; i < rank; i++)
        s.dim[i + 1] = slice->dim[i];
    return s;
}
