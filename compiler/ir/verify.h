// Parts of the verifier, for ir/verify.c.
#pragma once

#include "ir/op.h"

// SHARDED: whether the op's sharding follows from its operands'.
bool verify_placed(const Func *f, const Op *op, Diag *d);
