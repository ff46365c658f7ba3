// Passes: module in, module out.
#pragma once

#include "ir/op.h"

// How an op's placement was chosen: what `explain` tells.
typedef struct Decision {
    const char *func;
    const char *name; // of the value; NULL if it has none
    const char *op;
    const char *place;              // "file:line:col" or NULL
    const char *chosen, *runner_up; // plans, a line each; runner_up may be NULL
    double price, runner_price;     // wire bytes per device
    const char *flip;               // where the choice turns, or NULL
} Decision;

typedef struct PassContext {
    Arena *arena;
    Diag *diag;
    bool uneven_pad; // dimensions that do not divide are padded
    bool explain;    // fill `decisions`
    // What a device may hold of a loop's invariants that are gathered once
    // rather than in each turn.
    int64_t hoist_bytes;
    VEC(Decision) decisions;
} PassContext;

// Returns the new module, or the old one if it only annotated; NULL (and a
// message) if it cannot be done.
typedef Module *PassFn(PassContext *c, Module *m);

typedef struct Pass {
    const char *name;
    const char *summary;
    PassFn *run;
} Pass;

typedef struct PassOptions {
    const char *print_after; // pass name, "all", or NULL
    bool round_trip;         // print and reparse after each pass
    bool time;               // say what each took
} PassOptions;

#define PASS(name, summary) PassFn pass_##name;
#include "pass/passes.def"

// Whether all names of a comma-separated list are passes.
bool passes_are_known(const char *list);

// Runs the comma-separated passes, verifying after each. NULL on failure.
Module *pass_run(PassContext *c, Module *m, const char *list,
                 const PassOptions *opt);
