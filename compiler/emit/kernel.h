// From a planned kernel to a function.
//
// Kernel number N is kN(own, shared, device, turn): it computes the address of
// each access and calls the body, which knows no addresses, so that kernels
// which differ in nothing else have one body.
#pragma once

#include "emit/gen.h"
#include "emit/plan.h"

typedef struct Body {
    const char *text; // what it does
    LLVMValueRef function;
} Body;

typedef struct Bodies {
    VEC(Body) at;
} Bodies;

// While a body is written.
typedef struct KernelCode {
    Gen *g;
    const Kernel *kernel;
    const char *name;                  // of the body
    LLVMValueRef access[MAX_ACCESSES]; // address or, without buffer, index
    LLVMValueRef scratch;
} KernelCode;

// The address in an access that is `i` further along a dimension.
LLVMValueRef access_along(const KernelCode *c, int access, LLVMValueRef p,
                          int dim, LLVMValueRef i);
int64_t access_stride(const KernelCode *c, int access, int dim);

// Returns the function kN.
LLVMValueRef kernel_function(Gen *g, Bodies *bodies, const Plan *p, int n);

// A text that is the same for two kernels only if one body does for both.
char *kernel_text(Arena *a, const Kernel *k);

// The body of a matrix product (product_code.c).
void emit_product(KernelCode *c);
// The bodies of ops with code of their own.
void emit_cumsum(KernelCode *c);
void emit_gather(KernelCode *c);
void emit_scatter(KernelCode *c);
void emit_attention(KernelCode *c);
void emit_route(KernelCode *c);
