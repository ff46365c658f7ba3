// Random GLOBAL modules, the same from the same seed on every machine.
//
// A program is made op by op and computed on the way, so that what it does is
// known to be sound: values stay below 10,000, a logarithm gets positive
// numbers, and what jumps (a comparison, an index, a choice) is only made of
// values that are exact in f64 whatever the order of their sums.
#pragma once

#include "ir/interp.h"
#include "ir/op.h"

enum {
    MAX_COUNT = 2000,   // entries of a tensor
    MAX_POINTS = 40000, // of an op
    INEXACT = 1000,
};

typedef struct Value {
    Op *op;
    double *x;
    int fraction; // binary digits after the point; INEXACT: not known
} Value;

typedef struct Gen {
    Arena *arena;
    Diag *diag; // for what an op's infer has to say: nothing
    uint64_t state;
    Module *module; // where params, ops and bodies stand until they are done
    Func *params, *ops;
    VEC(Value *) values;
    int64_t size[3]; // most dimensions are one of these, so that they meet
    bool uneven;     // sizes that do not divide are split
    bool rounds;     // has bf16: small values, nothing that magnifies errors
    bool is_body;
} Gen;

typedef struct RandomModule {
    Module *module;
    bool uneven;
} RandomModule;

RandomModule random_module(Arena *a, uint64_t seed);

// The values that parameter `index` is tested with: exact, of either sign or
// positive.
double *random_input(Arena *a, const Type *t, int index);

// --- for the makers of ops ---------------------------------------------------

int below(Gen *g, int n); // 0 .. n-1
bool chance(Gen *g, int percent);
int64_t random_size(Gen *g);
// A placement of a value; `pending` as well if that may be.
Sharding random_sharding(Gen *g, const Type *t, bool may_pend);

// f32, or at times bf16 in a program that rounds.
DType random_float(Gen *g);

// A value of that element type, or of any (NDTYPE); likely a recent one.
Value *pick(Gen *g, DType dtype);
// One of that very type, or a new param or constant; NULL if it is too large.
Value *pick_like(Gen *g, const Type *t);
Value *new_param(Gen *g, const Type *t);

// An op to be completed and then kept, if it is sound.
Op *begin(Gen *g, OpCode code, int n, Value *const operand[]);
Value *keep(Gen *g, Op *op, int fraction);
// The most fraction digits of an op's operands.
int fraction_of(Gen *g, const Op *op);

// Copies all that was made into a function of `out`.
Func *assemble(Gen *g, Module *out, const char *name, int n,
               Value *const result[]);

Value *make_unary(Gen *g, OpCode code, Value *a, int fraction);
Value *make_scan(Gen *g);
// Adds a random op that only moves data; NULL if it came to nothing.
Value *make_moved(Gen *g);
// Adds a random op; false if it came to nothing.
bool random_op(Gen *g);
