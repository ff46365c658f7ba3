// The plan of a LOCAL module: steps in order, and where every value lives.
//
// A value is stored, or a view of one that is, or computed inside the loop
// nest of its only user. What remains are kernels, collectives and loops, a
// linear schedule, and buffers with offsets in the two segments of a device.
#pragma once

#include "emit/lower.h"
#include "emit/nest.h"

// What a LOCAL module does not say of the entry's params and results.
typedef struct Placed {
    const char *name;
    Type type; // of the whole tensor
    Sharding sharding;
    int64_t limit; // values of an index are below it; 0: no index
} Placed;

typedef struct TensorPlacement {
    const Placed *param;  // in order of the entry's params
    const Placed *result; // in order of its results
    bool stores_all; // each op has a kernel, and can be told from others
} TensorPlacement;

typedef enum BufferClass {
    BUFFER_param,
    BUFFER_state,    // of the optimizer
    BUFFER_gradient, // results called grad.NAME
    BUFFER_input,
    BUFFER_output,
    BUFFER_saved, // what a loop leaves for later
    BUFFER_temporary,
    BUFFER_constant,
    NBUFFER_CLASS,
} BufferClass;

typedef struct Buffer {
    const char *name;
    BufferClass class_;
    bool is_shared;
    bool is_kept;         // from the first step to the last
    struct Buffer *alias; // the buffer it is a part of time of; NULL: itself
    int64_t bytes;
    int64_t at;      // in its segment
    int64_t start;   // of an alias: where in its buffer, in bytes
    int64_t step;    // and how much further with each turn of the loop
    int first, last; // steps that use it; first > last: none
    const Op *constant;
} Buffer;

typedef struct Access {
    Buffer *buffer; // NULL: the value is the index itself
    DType dtype;
    View view; // in elements
} Access;

// access[0] is the result. A nest's nodes number the others.
typedef struct Kernel {
    const Op *op;
    const Nest *nest;  // NULL: op_lowering says LOWER_kernel
    const Op *product; // an einsum whose end the nest is
    VEC(Access) access;
    int64_t scratch_bytes;
    Buffer *scratch; // NULL: none
} Kernel;

typedef struct Transfer {
    const Op *op;
    Buffer *source, *result;
    int64_t at, step; // of the source, in bytes
} Transfer;

typedef struct Step {
    RtStepKind kind;
    int index; // of the kernel or exchange; a loop: how many steps
    int64_t trip;
} Step;

typedef struct Tensor {
    Placed placed;
    Type local;
    RtClass class_;
    Buffer *buffer;
    int64_t at; // bytes
    int donor;  // result: the tensor whose memory it takes over; -1: none
    RtInit init;
    double init_value;
} Tensor;

typedef struct Plan {
    Arena *arena;
    const Module *module;
    bool stores_all; // as in TensorPlacement
    VEC(Step) steps;
    VEC(Kernel *) kernels;
    VEC(Transfer *) transfers;
    VEC(Buffer *) buffers;
    VEC(Tensor) tensors;
    int64_t bytes[2]; // of the segments: own, shared
} Plan;

// `placement` may be NULL: tensors are whole and named as in the module.
Plan *plan_module(Arena *a, const Module *m, const TensorPlacement *placement);

// Text: steps, buffers, offsets, sizes.
void plan_print(const Plan *p, FILE *f);
// TSV: class, bytes on one device.
void plan_print_memory(const Plan *p, FILE *f);
