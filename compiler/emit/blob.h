// The tables of a program, as the runtime reads them (runtime/program.h).
#pragma once

#include "emit/plan.h"

typedef struct Blob {
    Arena *arena;
    VEC(char) bytes;
} Blob;

// Writes all tables of a plan; kernel N of the plan is kernel N of the table.
void blob_write(Blob *b, const Plan *p);
