// Reverse-mode differentiation of a function (Griewank and Walther, 2008).
//
// A tape holds a function's ops as they stand in `out`, and the cotangents of
// its values so far. Loops are differentiated as loops (remat.c): the forward
// one leaves what is saved, stacked; the backward one takes the slices in the
// other order, computes what was not saved again, and leaves the gradients of
// the stacked weights.
#pragma once

#include "ir/build.h"
#include "ir/loop.h"
#include "pass/pass.h"

typedef struct Copied { // a function of the old module, in the new one
    const Func *old;
    Func *new;
} Copied;

typedef struct Rewriter {
    PassContext *c;
    Module *m;       // the new one
    const Module *old;
    bool is_narrow;  // weights' gradients are summed over devices in bf16
    bool is_trial;   // what is built is thrown away: nothing is reported
    VEC(Copied) copied;
} Rewriter;

// What is known of a loop between its forward and its backward pass.
typedef struct LoopTape {
    Loop loop;         // of the old module
    Op *forward;       // in out
    Func *back;        // the body of the backward loop
    bool *is_active;   // of each parameter of the body: gets a cotangent
    int nsaved;        // stacked results behind the loop's own
    bool has_carry;    // result 0 of the backward loop is carried
} LoopTape;

typedef struct Tape {
    Rewriter *x;
    const Func *f;      // being differentiated
    Func *out;          // where its ops and cotangents go
    Op **to;            // by id in f: the value in out
    Op **ct;            // by id in f: its cotangent; NULL: none yet
    bool *is_active;    // by id in f: depends on what is differentiated by
    LoopTape **loop;    // by id in f
} Tape;

// wanted: of each parameter of f, whether it is differentiated by.
Tape *tape_new(Rewriter *x, const Func *f, Func *out, const bool wanted[]);
// Copies the ops of f to out, but for those that `to` has already.
void tape_forward(Tape *t);
// From the cotangents of the results, which the caller has added, to those of
// the parameters.
void tape_backward(Tape *t);
void tape_add(Tape *t, const Op *value, Op *ct);

// The cotangent of a weight, placed as the weight is stored.
Op *weight_gradient(Rewriter *x, Func *out, const Op *weight, Op *ct);

// Loops (remat.c).
void loop_forward(Tape *t, const Op *op);
void loop_backward(Tape *t, const Op *op);
// Which parameters of the body get cotangents, if the operands do as `wanted`
// says: what is carried may come from others.
bool *loop_active(Rewriter *x, const Loop *l, const bool wanted[]);

// Copies one op, or what it calls, into out; calls are inlined.
Op *rewrite_op(Rewriter *x, Func *out, const Op *op, Op *const to[]);
// The function in the new module, rewritten once.
Func *rewrite_func(Rewriter *x, const Func *f);
// The ops of a function in the midst of another; gives its results.
Op **inline_func(Rewriter *x, Func *out, const Func *f, Op *const argument[]);
// Gives the ops of out from number `from` on a place, if they have none.
void set_places(Func *out, int from, const Op *like);
