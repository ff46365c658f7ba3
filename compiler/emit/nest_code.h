// Writing the code of a loop nest.
#pragma once

#include "emit/gen.h"
#include "emit/nest.h"

// What is known at a place of the code.
typedef struct Scope {
    uint32_t open;                   // loops
    LLVMValueRef value[MAX_NODES];   // NULL: not computed yet
    LLVMValueRef address[MAX_NODES]; // of a load; of an index: itself
    LLVMValueRef out;
} Scope;

typedef struct NestCode {
    Gen *g;
    const Nest *nest;
    DType out_dtype;
    int vector_loop;   // -1: none
    int lanes;         // of its vectors
    LLVMValueRef sums; // what a product hands over here
    Scope now;
} NestCode;

// base: for each access its address or, for an index, its value.
void nest_code_start(NestCode *c, Gen *g, const Nest *n, DType out,
                     const LLVMValueRef base[]);
// Opens a loop at index i.
void nest_code_enter(NestCode *c, int loop, LLVMValueRef i);
// Computes what changes with no other loop than the open ones: the nodes
// before `limit`.
void nest_code_hoist(NestCode *c, int limit);
// Computes the root and stores it.
void nest_code_store(NestCode *c);
// The whole nest.
void nest_code_run(NestCode *c);

// A node's value, as a vector if `lanes` is over 1.
LLVMValueRef node_value(NestCode *c, int i, int lanes);
// A reduction over the node's own loops (reduce.c).
LLVMValueRef node_reduce(NestCode *c, int i);
// How many lanes fit a loop of that size.
int lanes_for(const Gen *g, int64_t size);
