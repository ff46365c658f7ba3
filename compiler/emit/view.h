// Views: how the points of a loop nest map to the elements of a tensor.
//
// element = at + sum of stride * index. The first `rank` indices are loops;
// after them come the terms, whose index is the same in the whole kernel: the
// device's piece under a split, or the turn of the loop around the kernel.
// Elements are counted row major, so reshape changes nothing and slices,
// transposes, broadcasts and their compositions are views.
#pragma once

#include "ir/graph.h"

enum {
    MAX_LOOPS = 16,
    MAX_VIEW = MAX_LOOPS + 8,
};

typedef enum IndexKind {
    INDEX_LOOP,
    INDEX_PIECE, // the device's piece under `split`
    INDEX_TURN,
} IndexKind;

typedef struct ViewDim {
    int64_t size;
    int64_t stride;
    IndexKind kind;
    const Split *split;
} ViewDim;

typedef struct View {
    int64_t at;
    int rank;
    int n; // with terms
    ViewDim dim[MAX_VIEW];
} View;

void view_add_loop(View *v, int64_t size, int64_t stride);
void view_add_piece(View *v, const Mesh *m, const Split *split, int64_t stride);
void view_add_turn(View *v, int64_t trip, int64_t stride);

// Strides of a row-major tensor.
void row_major(const Type *t, int64_t stride[MAX_RANK]);
View view_identity(const Type *t);
bool view_is_empty(const View *v); // no points
// outer, whose elements are the points of `inner`'s loops in row-major order,
// then inner; no strides if there are no elements. False if that is no view (a
// loop runs across two dimensions).
bool view_compose(const View *outer, const View *inner, View *out);
bool view_equal(const View *a, const View *b);
// Loops in row-major order without gaps; no piece.
bool view_is_dense(const View *v);
bool view_is_identity(const View *v);
