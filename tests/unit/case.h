// A program as text, partitioned and run on its devices.
#pragma once

#include "parts.h"

typedef struct Case {
    Arena arena;
    Module *sharded, *local;
    double **out; // by result and device
    bool uneven_pad;
} Case;

// Runs on `in`, one whole tensor a param.
void case_run(Case *c, const char *text, const double *const in[]);
// Runs on what each device has: part[param * devices + device].
void case_run_parts(Case *c, const char *text, const double *const part[]);
// The values of result r on device d.
const double *case_result(const Case *c, int r, int64_t d);
// How often a step runs such collectives that leave `count` elements of the
// type on a device.
int64_t case_executions(const Case *c, OpCode code, DType dtype, int64_t count);

// Fails unless the values are equal to 1e-12.
void assert_near(double got, double want);
void assert_values(const double *got, int n, const double want[]);
