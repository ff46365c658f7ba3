// What the SHARDED form knows of the entry's inputs and outputs and LOCAL does
// not: global shapes and placements.
#pragma once

#include "pass/pass.h"

// The bound that an i32 param's values must keep (they index a table), over
// all its uses; 0 if none.
int64_t param_limit(const Func *f, const Op *param);
