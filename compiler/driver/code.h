// From a LOCAL module to a plan and to code.
//
// Code generation, and LLVM with it, is a library that is loaded when it is
// first needed: to check a model takes neither its time nor its memory.
#pragma once

#include "driver/driver.h"
#include "emit/emit.h"

Plan *build_plan(Driver *d, const Built *b);

// The functions of emit/emit.h, in the loaded library.
typedef struct Emitter {
    Code *(*code)(Arena *a, const Plan *p, const char *prefix, char **error);
    void (*free_code)(Code *c);
    void (*llvm)(const Code *c, FILE *f);
    bool (*assembly)(Code *c, FILE *f, char **error);
    bool (*object)(Code *c, const char *path, char **error);
    bool (*load)(Code *c, Jit *j, char **error);
    void (*unload)(Jit *j);
} Emitter;

// False, and an error, if the library or LLVM cannot.
bool build_code(Driver *d, const Built *b, Emitter *e, Code **out);
// Reports what a lower layer said is wrong.
void driver_fail(Driver *d, const char *error);

// A file that belongs to the program: beside it as it was built, or where it
// is installed.
const char *find_beside(Arena *a, const char *built, const char *installed);
