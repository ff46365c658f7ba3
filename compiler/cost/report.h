// What a partitioned program communicates.
#pragma once

#include "ir/op.h"

// How often a function runs in one step: the product of the trips around it.
int64_t func_count(const Module *m, const Func *f);

// Bytes per device and execution of a LOCAL collective: the gathered result of
// an all-gather, the local input of every other.
int64_t collective_bytes(const Op *op);
// Bytes on the wire per device by the ring algorithms.
int64_t collective_wire(const Mesh *m, const Op *op);

// TSV with a header: id, kind, axes, dims, dtype, bytes, count, wire, in, op,
// place, cause. Slices are free and not listed.
void report_collectives(const Module *local, FILE *f);

// A few lines: for each kind and group of axes how many there are, and the
// bytes and wire bytes of a step.
void report_summary(const Module *local, FILE *f);

// Whether a LOCAL op sends anything.
bool is_communication(const Op *op);
