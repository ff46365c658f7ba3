// From a plan to native code for the host, through LLVM.
#pragma once

#include "emit/plan.h"
#include "runtime/program.h"

typedef struct Code Code; // an LLVM module and its target

// Generates the code of a plan; its symbols are PREFIX_program and
// PREFIX_kernels: "shardc", or "shardc_step" for a training step. Errors of LLVM are put into *error (from the
// arena) and NULL or false is returned.
Code *emit_code(Arena *a, const Plan *p, const char *prefix, char **error);
void emit_free(Code *c);

// Text. The first also works before, and only before, the others.
void emit_llvm(const Code *c, FILE *f);
bool emit_asm(Code *c, FILE *f, char **error);
bool emit_object(Code *c, const char *path, char **error);

// Links objects, one or two (the other is NULL), with the runtime's libraries
// in `runtime_dir` to `out`.
bool link_program(Arena *a, const char *object, const char *other,
                  const char *runtime_dir,
                  const char *out, char **error);

// The program in this process.
typedef struct Jit {
    void *engine;
    const char *blob;
    RtKernel *const *kernels;
} Jit;

bool jit_load(Code *c, Jit *j, char **error);
void jit_free(Jit *j);
