// The tables of a program, as the runtime reads them (runtime/program.h).
#pragma once

#include "emit/plan.h"

typedef struct Blob {
    Arena *arena;
    VEC(char) bytes;
} Blob;

// Appends n bytes, aligned to 16; returns where they are.
int64_t blob_append(Blob *b, const void *data, size_t n);
// The table of probes (probe.c).
int64_t probes_write(Blob *b, const Plan *p);
// Writes all tables of a plan; kernel N of the plan is kernel N of the table.
void blob_write(Blob *b, const Plan *p);
