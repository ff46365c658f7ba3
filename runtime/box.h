// A device's part of a tensor as boxes of the whole: one, unless its splits
// have gaps. Padding is in no box.
#pragma once

#include "runtime/program.h"

typedef struct RtBox {
    int64_t at[RT_MAX_RANK];     // where it starts in the whole tensor
    int64_t extent[RT_MAX_RANK]; // of none or more entries
    int64_t local[RT_MAX_RANK];  // where it starts in the device's part
} RtBox;

// How many there are, empty ones counted; the same for every device.
int64_t rt_box_count(const RtTensor *t);
RtBox rt_box(const RtProgram *p, const RtTensor *t, int64_t device, int64_t k);

// Entries of a box.
int64_t rt_box_size(const RtTensor *t, const RtBox *b);
// What two boxes of the whole have in common; `local` is that of `a`. Returns
// false if it is nothing.
bool rt_box_meet(int rank, const RtBox *a, const RtBox *b, RtBox *both);

// An array that a box is taken out of, or put into.
typedef struct RtArray {
    char *base;
    const int64_t *dim;
    const int64_t *at; // where the box starts in it
} RtArray;

// `bytes`: of an entry.
void rt_box_copy(int rank, const int64_t extent[], int64_t bytes, RtArray from,
                 RtArray to);
// Whether the tensor's padding has to be filled.
bool rt_has_padding(const RtProgram *p, const RtTensor *t);
int64_t rt_local_bytes(const RtTensor *t); // of one device, padding included
