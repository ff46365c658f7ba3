// Why ops are placed as they are: decisions for `shardc explain`.
#pragma once

#include "pass/solve.h"

// Appends to c->decisions one for each op of s (and of its loops' bodies) that
// had a choice.
void explain_func(PassContext *c, const FuncState *s);
