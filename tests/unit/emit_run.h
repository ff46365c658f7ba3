// Running LOCAL modules as native code, and comparing with the interpreter.
#pragma once

#include "ir/graph.h"

// Native code of the module on values in[param * ndevice + device]; the
// results in the same layout, as module_interp has them.
double **native_run(Arena *a, const Module *m, const double *const in[]);

// Inputs by type: floats around 0 (bf16 if so), small integers, bools.
double **make_inputs(Arena *a, const Module *m, unsigned seed);

// Parses, verifies, runs both ways. The largest difference over the largest
// value of a result must be at most `bound`; fails the test if not.
void check_native(const char *text, double bound);
