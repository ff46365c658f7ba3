// From a LOCAL module to a plan and to code.
#pragma once

#include "driver/driver.h"
#include "emit/emit.h"

Plan *build_plan(Driver *d, const Built *b);
// NULL, and an error, if LLVM cannot.
Code *build_code(Driver *d, const Plan *plan);
// Reports what a lower layer said is wrong.
void driver_fail(Driver *d, const char *error);
