// Running a module by the reference interpreter, on files.
#pragma once

#include "driver/driver.h"

// Runs the form that --interpret names; the exit code.
int run_interpreter(Driver *d, const Built *b);

// Training, interpret_train.c.

// Whether it has all that the options ask for; else says so.
bool can_interpret_training(const Options *o);
bool is_state(const Op *param);
// False if they are random.
bool first_values(const Op *state, double x[]);
// Results that a file gets, and scalars that are told.
bool is_dumped(const Func *f, int result);
bool is_printed(const Func *f, int result);
// From the results of a step to the params of the next, on n devices.
void carry_on(const Func *f, int64_t n, double *const out[],
              const double *in[]);
// A JSON object with the scalars of a step.
void write_row(FILE *metrics, const Func *f, int64_t n, double *const out[],
               int step);
