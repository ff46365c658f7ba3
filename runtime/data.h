// Batches of token ids: windows of a file, or made up.
//
// A window is seq + 1 ids, of which `tokens` takes the first seq and `targets`
// the last; windows overlap by that one id. Window k of a run is entry k % n of
// epoch k / n, a permutation of all n windows that is a function of the seed,
// the epoch and the entry: nothing is remembered but k. Made-up ids are an
// endless file, read in order.
#pragma once

#include <stdio.h>

#include "runtime/program.h"

typedef struct RtData {
    const char *path; // NULL: made up
    const char *ids;
    size_t bytes; // of the file
    int id_bytes; // 2 or 4
    int64_t batch;
    int64_t seq;
    int64_t nwindow; // 0: endless
    int64_t nid;     // of a window, as far as the program takes them
    int64_t limit;   // ids are less
    uint64_t seed;
} RtData;

// path: NULL for made-up ids. type: "u16" or "u32". Says what is wrong with
// the file, or which inputs of the program are not to be had from it.
bool rt_data_open(const RtProgram *p, const char *path, const char *type,
                  uint64_t seed, FILE *message, RtData *d);
void rt_data_close(RtData *d);

// The batch of windows position .. position + batch - 1: where in the file its
// first id is that is out of range, or -1.
int64_t rt_data_bad(const RtData *d, int64_t position);
void rt_data_tell(const RtData *d, int64_t bad, FILE *message);
// A device's part of one input in that batch.
void rt_data_fill(const RtData *d, const RtProgram *p, const RtTensor *t,
                  int64_t device, int64_t position, char *local);

// Entries of `tokens`, else of the first matrix of i32: what a step reads.
int64_t rt_batch_tokens(const RtProgram *p);
