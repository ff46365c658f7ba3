// Attention, block by block.
#pragma once

#include "ir/graph.h"

// Bytes of scratch of an attention op.
int64_t attention_scratch(const Op *op);
