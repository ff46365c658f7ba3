// Elementwise ops on values and vectors: one table over the ops.
#pragma once

#include "emit/gen.h"
#include "ir/graph.h"

// x: the operands, and the index if the op takes one. bf16 is computed as f32
// and rounded by the caller.
typedef LLVMValueRef PointEmitter(const Gen *g, const Op *op,
                                  const LLVMValueRef x[], int lanes);

extern PointEmitter *const point_emitter[NOP];

// Combines two values of a type, as a reduction does.
LLVMValueRef point_combine(const Gen *g, OpCode reduce, DType t, LLVMValueRef a,
                           LLVMValueRef b);
// What a reduction starts with.
LLVMValueRef point_identity(const Gen *g, OpCode reduce, DType t, int lanes);
