// A loop nest: expressions over points, stored to memory.
//
// The loops 0 .. nroot - 1 run over the stored result, outermost first; the
// others belong to reductions. A node is computed in the outermost loop that
// it changes with, so a value per row is computed once a row.
#pragma once

#include "emit/view.h"

enum {
    MAX_NODES = 128,
    MAX_ACCESSES = 64,
};

typedef enum NodeKind {
    NODE_load,    // from access `access`
    NODE_index,   // the index that access `access` is
    NODE_number,  //
    NODE_point,   // op of the args
    NODE_reduce,  // of arg[0] over `own` loops
    NODE_product, // the sum that the matrix product hands over
} NodeKind;

typedef struct Node {
    NodeKind kind;
    DType dtype;
    const Op *op; // point, reduce, product
    double number;
    int access;
    int narg;
    int arg[3];
    int64_t stride[MAX_LOOPS]; // load, index: per loop
    uint32_t loops;            // that it changes with
    uint32_t own;              // reduce
} Node;

typedef struct Nest {
    int nroot, nloop;
    int64_t size[MAX_LOOPS];
    int nnode;
    Node node[MAX_NODES]; // arguments before users
    int root;
    int64_t out[MAX_LOOPS]; // strides of access 0
    bool has_product;
} Nest;

// Joins loops that every access steps through as one; drops those of size 1.
void nest_simplify(Nest *n);
