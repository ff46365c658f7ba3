// Short names over LLVM's C API for code made of loops and explicit vectors.
//
// A value is a scalar or a vector; `lanes` says which (1: scalar). Addresses
// are bytes. Loops are test-at-end with carried values, so that accumulators
// live in registers without any pass over the code.
#pragma once

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>

#include "base/arena.h"
#include "ir/type.h"

enum {
    MAX_CARRY = 64,
    MAX_LANES = 16,
    MAX_OUTER = 8,
    MAX_PARAMS = 96,
};

typedef struct Gen {
    Arena *arena;
    LLVMTargetMachineRef machine;
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMBuilderRef b;
    int lanes; // of f32 in a vector of the target
    int rows;  // of a GEMM tile; its columns are 2 vectors
    LLVMTypeRef none, i1, i8, i16, i32, i64, f32, f64, ptr;
    LLVMValueRef function; // being written
    int nouter;            // functions left half written meanwhile
    LLVMValueRef outer[MAX_OUTER];
    LLVMBasicBlockRef outer_at[MAX_OUTER];
} Gen;

typedef struct Loop {
    LLVMBasicBlockRef before, body, exit;
    LLVMValueRef i; // the counter
    LLVMValueRef to, step;
    int ncarry;
    LLVMValueRef init[MAX_CARRY];
    LLVMValueRef carry[MAX_CARRY]; // in the body; after loop_end: results
} Loop;

typedef struct Branch {
    LLVMBasicBlockRef other, exit;
} Branch;

// For the host: its CPU and features. False with a message in *error.
bool gen_open(Gen *g, Arena *a, const char *name, char **error);
void gen_close(Gen *g);

LLVMTypeRef gen_vector(LLVMTypeRef element, int lanes);
LLVMValueRef gen_i64(const Gen *g, int64_t x);
LLVMValueRef gen_i32(const Gen *g, int64_t x);
LLVMValueRef gen_float(const Gen *g, double x, int lanes);
LLVMValueRef gen_double(const Gen *g, double x, int lanes);
LLVMValueRef gen_int(LLVMTypeRef type, int64_t x, int lanes);
// As interpreted: bool is whether it is not 0, i32 is round_i32.
LLVMValueRef gen_number(const Gen *g, DType t, double x, int lanes);
LLVMValueRef gen_splat(const Gen *g, LLVMValueRef x, int lanes);
LLVMValueRef gen_add(const Gen *g, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef gen_sub(const Gen *g, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef gen_mul(const Gen *g, LLVMValueRef a, LLVMValueRef b);
// a * k and a / k, a % k (unsigned) for a constant k.
LLVMValueRef gen_scale(const Gen *g, LLVMValueRef a, int64_t k);
LLVMValueRef gen_min(const Gen *g, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef gen_fma(const Gen *g, LLVMValueRef a, LLVMValueRef b,
                     LLVMValueRef c);
// Picks elements of a and b laid end to end.
LLVMValueRef gen_shuffle(const Gen *g, LLVMValueRef a, LLVMValueRef b, int n,
                         const int pick[]);
// An intrinsic overloaded on the types in `over`.
LLVMValueRef gen_intrinsic(const Gen *g, const char *name, int nover,
                           LLVMTypeRef over[], int n, LLVMValueRef arg[]);
// An intrinsic or libm function of one value, overloaded on its type.
LLVMValueRef gen_unary(const Gen *g, const char *name, LLVMValueRef x);

LLVMValueRef gen_address(const Gen *g, LLVMValueRef p, LLVMValueRef bytes);
LLVMValueRef gen_offset(const Gen *g, LLVMValueRef p, int64_t bytes);
LLVMValueRef gen_load(const Gen *g, LLVMTypeRef type, LLVMValueRef p,
                      int align);
void gen_store(const Gen *g, LLVMValueRef x, LLVMValueRef p, int align);
void gen_prefetch(const Gen *g, LLVMValueRef p, bool to_write);
// Memory of the running function, 64-byte aligned. At the start of it only.
LLVMValueRef gen_stack(const Gen *g, int64_t bytes);

// Loads as the type to compute with: bf16 as f32, bool as i1.
LLVMValueRef gen_load_as(const Gen *g, DType t, LLVMValueRef p, int lanes);
// Stores such a value; bf16 must have been rounded.
void gen_store_as(const Gen *g, DType t, LLVMValueRef x, LLVMValueRef p,
                  int lanes);
// To the nearest bf16, ties to even, still as f32.
LLVMValueRef gen_round_bf16(const Gen *g, LLVMValueRef x, int lanes);
LLVMTypeRef gen_compute_type(const Gen *g, DType t, int lanes);

// Starts an internal function of pointers ('p') and i64 ('i'), as in "ppi".
// Returns false if the module has it already, in *f. Ended by gen_return, which
// goes on with the function that was being written before.
bool gen_function(Gen *g, const char *name, const char *params,
                  LLVMValueRef *f);
void gen_return(Gen *g);
void gen_call(const Gen *g, LLVMValueRef f, int n, LLVMValueRef arg[]);

// for (i = from; i < to; i += step)
void loop_begin(const Gen *g, Loop *l, LLVMValueRef from, LLVMValueRef to,
                LLVMValueRef step, int ncarry, const LLVMValueRef init[]);
void loop_count(const Gen *g, Loop *l, int64_t from, int64_t to, int64_t step);
void loop_end(const Gen *g, Loop *l, const LLVMValueRef next[]);

void branch_if(const Gen *g, Branch *b, LLVMValueRef condition);
void branch_else(const Gen *g, Branch *b);
void branch_end(const Gen *g, Branch *b);
