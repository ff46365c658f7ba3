// How each op becomes code: one table over the ops.
#pragma once

#include "emit/view.h"
#include "runtime/program.h"

typedef enum Lowering {
    LOWER_none,       // not in LOCAL
    LOWER_param,      // memory that is there
    LOWER_leaf,       // a number or an index: computed where it is used
    LOWER_view,       // the same elements, seen otherwise
    LOWER_point,      // element by element
    LOWER_reduce,     // a loop over some indices
    LOWER_product,    // a matrix product
    LOWER_parts,      // operands copied side by side
    LOWER_kernel,     // code of its own
    LOWER_loop,       // its body, in a loop
    LOWER_result,     // one of a loop's results: memory that is there
    LOWER_collective, // done by the runtime
} Lowering;

typedef struct OpLowering {
    // view: the result's dimensions onto the operand's elements.
    void (*view)(const Mesh *m, const Op *op, View *v);
    // kernel: bytes of memory it works in. NULL: none.
    int64_t (*scratch)(const Op *op);
    // kernel: the entries here of the dimension whose place it must know.
    int64_t (*placed)(const Op *op);
    Lowering how;
    RtCollectiveKind collective;
    bool is_free;     // point: repeated in each nest rather than stored
    bool takes_index; // point: of op_index_view, as one more argument
} OpLowering;

extern const OpLowering op_lowering[NOP];

// As op_lowering[].how, but a constant with one number for each element is
// memory, and a product with a vector or of integers is a reduction.
Lowering op_lower(const Op *op);
// How a reduction sees operand i: by the result's dimensions and by its own
// loops, each with a stride.
typedef struct Contraction {
    View kept; // over the result's dimensions
    int nown;
    int64_t size[MAX_LOOPS], stride[MAX_LOOPS];
} Contraction;

Contraction op_contraction(const Op *op, int i);
// Whether an einsum multiplies with a vector only, or with nothing.
bool op_is_thin(const Op *op);

// The index that an iota or a mask computes with, over the op's dimensions.
View op_index_view(const Mesh *m, const Op *op);
// Where operand i of LOWER_parts goes in the result, over its dimensions.
View op_part_view(const Op *op, int i);
