// Reading the command line.
#pragma once

#include "driver/driver.h"

// Fills d->o; returns -1 to go on, or an exit code (usage errors, --help).
int options_read(Driver *d, int argc, char *argv[]);
