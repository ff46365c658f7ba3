// Running a module by the reference interpreter, on files.
#pragma once

#include "driver/driver.h"

// Runs the form that --interpret names; the exit code.
int run_interpreter(Driver *d, const Built *b);
