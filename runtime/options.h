// What options exclude or need each other.
#pragma once

#include "runtime/runtime.h"

// Tells the first that cannot be.
bool options_check(const RtOptions *o, FILE *message);
