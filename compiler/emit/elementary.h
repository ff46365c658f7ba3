// Elementary functions of f32 values and vectors, written inline.
#pragma once

#include "emit/gen.h"

LLVMValueRef math_exp(const Gen *g, LLVMValueRef x, int lanes); // 1 ulp
LLVMValueRef math_log(const Gen *g, LLVMValueRef x, int lanes);
LLVMValueRef math_sin(const Gen *g, LLVMValueRef x, int lanes);
LLVMValueRef math_cos(const Gen *g, LLVMValueRef x, int lanes);
LLVMValueRef math_tanh(const Gen *g, LLVMValueRef x, int lanes);
LLVMValueRef math_power(const Gen *g, LLVMValueRef x, LLVMValueRef y,
                        int lanes);
