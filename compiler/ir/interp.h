// The reference interpreter: runs a module of any form, op by op, in f64.
//
// In GLOBAL and SHARDED values are whole tensors and a change of placement
// changes nothing. In LOCAL each device has its own values and collectives
// exchange them. Results are rounded to bf16, i32 or bool; f32 stays f64.
#pragma once

#include "ir/graph.h"

// in[p]: the entry's parameter p, row major. LOCAL: in[p * ndevice + device].
// The results, in the same layout, are allocated in `a`.
double **module_interp(Arena *a, const Module *m, const double *const in[]);

// One op on one device's operands.
void op_interp(const Func *f, const Op *op, int64_t device,
               const double *const in[], double *out);

double round_bf16(double x);
// Truncates, and wraps around; an infinity becomes the last number there is.
double round_i32(double x);
