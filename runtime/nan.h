// The first NaN of a step: which kernel made it, on which device.
#pragma once

#include "runtime/memory.h"

// What one worker found. In memory that all workers reach.
typedef struct NanFound {
    int64_t position; // steps walked before the kernel; 0: none was found
    int64_t device;
    int32_t kernel;
} NanFound;

// Looks at the result of a kernel that has just run; keeps the first find.
// Positions count from 1.
void nan_look(const RtProgram *p, const RtMemory *m, int kernel, int64_t device,
              int64_t iter, int64_t position, NanFound *found);
// The operation, or those that are computed together, in order.
const char *nan_maker(const RtProgram *p, const NanFound *found);
// The first of all workers' finds; NULL: none.
const NanFound *nan_first(const NanFound found[], int n);
