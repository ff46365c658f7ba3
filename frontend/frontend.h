// The model language: text to a GLOBAL module.
#pragma once

#include "frontend/ast.h"
#include "ir/graph.h"

// Reads a file and all it includes (paths relative to the including file; each
// file once). Reports every error it can; NULL if there was one.
Program *program_load(Arena *a, const char *path, Diag *d);

// An ordered rule set, bases and aliases merged in. See frontend/rules.c.
typedef struct Rules Rules;

// NULL (and an error that lists the known sets) if the program has no such set.
const Rules *rules_find(Arena *a, const Program *p, const char *name, Diag *d);

// The mesh by name of a `mesh` declaration or as "fsdp=2,tensor=2".
bool mesh_from_text(Arena *a, const Program *p, const char *text, Mesh *out,
                    Diag *d);

// What is compiled: the model, or a step of its training.
typedef enum Entry {
    ENTRY_forward,
    ENTRY_step,
    ENTRY_best, // step, if train names an optimizer
} Entry;

typedef struct BuildOptions {
    Entry entry;
    const char *config;      // NULL: defaults alone
    const char *const *sets; // "NAME=VALUE", ended by NULL
    const Rules *rules;      // NULL: all replicated
    Mesh mesh;
    bool uneven_pad; // a dimension that does not divide is padded
} BuildOptions;

// Whether train names an optimizer: then there is an entry `step`.
bool program_trains(const Program *p);

// Elaborates the program to a GLOBAL module: inputs, weights and states are
// params of the entry function, with shardings from the rules. The entry is
// `main`, the forward pass and, where there is `train`, the loss; or `step`.
// NULL if there was an error.
Module *frontend_build(Arena *a, const Program *p, const BuildOptions *o,
                       Diag *d);

// What `explain --rules` prints: for each annotated tensor, each dimension:
// the rules tried, why each was skipped, which matched.
bool frontend_explain_rules(Arena *a, const Program *p, const BuildOptions *o,
                            FILE *out, Diag *d);

// Prints a file in the one layout (`shardc fmt`): keeps comments and blank
// lines between items; idempotent. False on a syntax error.
bool fmt_source(Arena *a, const Source *source, FILE *out, Diag *d);
