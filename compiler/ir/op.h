// What the compiler knows of an op. One const OpInfo per op, in op/*.c.
#pragma once

#include "ir/graph.h"

enum {
    MAX_FACTORS = 40,
    MAX_TENSORS = 9,     // operands and the result of an op with a rule
    MAX_DIM_FACTORS = 9, // of one dimension (reshape)
    MAX_ATTRS = 6,
};

typedef enum FactorKind {
    FACTOR_PASS,     // may be split: each piece is computed on its own
    FACTOR_REDUCE,   // not in the result: a split leaves a partial value
    FACTOR_LOOKUP,   // as REDUCE, in contiguous runs; LOCAL needs `offset`
    FACTOR_POSITION, // may be split in contiguous runs; LOCAL needs `offset`
    FACTOR_WHOLE,    // must not be split
} FactorKind;

typedef struct DimFactors {
    int8_t n; // major first; 0 for a dimension of size 1 that no factor has
    int8_t factor[MAX_DIM_FACTORS];
} DimFactors;

// How an op's dimensions relate, as an einsum: the factors (index letters) of
// each dimension of each operand and, last, of the result. Propagation,
// partitioning, cost, interpreter and loop nests read this; they know no op
// by name. A factor that no operand has (broadcast) is in the result alone.
typedef struct Rule {
    int nfactor;
    int64_t size[MAX_FACTORS];
    FactorKind kind[MAX_FACTORS];
    Combiner combiner; // of the reduced factors
    DimFactors dim[MAX_TENSORS][MAX_RANK];
} Rule;

// Which operands may hold a pending sum that the op carries to its result.
typedef enum Linear {
    LINEAR_NO,
    LINEAR_ALL, // all operands pending over the same atoms, or none (add)
    LINEAR_ANY, // one operand pending, the others replicated there (product)
} Linear;

// What a pass must know of an op that is no loop over factors.
typedef enum Role {
    ROLE_compute,
    ROLE_argument,   // param
    ROLE_result,     // one more result of a loop
    ROLE_call,       // a function with a backward of its own: GLOBAL only
    ROLE_grad,       // the gradient of a function: GLOBAL only
    ROLE_wish,       // shard: the user wants the value placed so
    ROLE_reshard,    // reshard: any change of placement
    ROLE_collective, // one change of placement: has `apply` and `exchange`
    ROLE_loop,       // scan
    NROLE,
} Role;

typedef struct OpInfo {
    const char *name;
    Role role;
    int noperand;             // -1: any number
    AttrKey attrs[MAX_ATTRS]; // required, in printing order, ended by A_END
    Linear linear;
    bool (*is_linear)(const Op *op); // NULL: always, as `linear` says
    bool widens; // takes attribute dtype="f32": bf16 operands, f32 result

    // Sets op->type from operands and attributes; says what is wrong.
    // Types that are given, not inferred (param, constant, iota, broadcast,
    // reshape, convert), are checked instead.
    bool (*infer)(const Func *f, Op *op, Diag *d);
    // GLOBAL: appends to f what op's operands get of the cotangent `ct` of its
    // result (of the result's type), built with ir/build.h; out[i], of operand
    // i's type, stays NULL for an operand that has none. f holds op and what it
    // reads. NULL: the op has no derivative.
    void (*grad)(Func *f, const Op *op, Op *ct, Op *out[]);
    bool is_flat; // lets no cotangent through, by its meaning
    // Fills in the factors of a well-typed op. NULL: the op has none (scan,
    // collectives).
    void (*rule)(const Op *op, Rule *r);
    // The value of one point from the operands' values at that point.
    double (*scalar)(const Op *op, const double x[]);
    // Interprets an op that is no loop over its factors: in[] and out are row
    // major, of the operands' and the result's types. `at` is the device in
    // LOCAL, for `offset`.
    void (*eval)(const Func *f, const Op *op, int64_t at,
                 const double *const in[], double *out);
    // LOCAL: fits attributes that hold sizes to the operands' local types.
    void (*localize)(Func *f, Op *op);
    // SHARDED: the result's sharding from the operand's; false (and a message)
    // if the op does not apply to it. Collectives only.
    bool (*apply)(const Func *f, const Op *op, Sharding *out, Diag *d);
    // Bytes on the wire per device by the ring algorithm, on a group of n, from
    // the bytes of the operand there. NULL: sends nothing.
    double (*wire)(double bytes, double n);
    // Interprets a collective in LOCAL: in[d] and out[d] are device d's.
    void (*exchange)(const Func *f, const Op *op, const double *const in[],
                     double *const out[]);
} OpInfo;

#define OP(name) extern const OpInfo op_##name;
#include "ir/ops.def"

extern const OpInfo *const op_info[NOP];

static inline Linear op_linear(const Op *op)
{
    const OpInfo *info = op_info[op->code];
    return info->is_linear && !info->is_linear(op) ? LINEAR_NO : info->linear;
}

static inline Role op_role(const Op *op)
{
    return op_info[op->code]->role;
}
