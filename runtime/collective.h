// Collectives between the devices' segments of memory.
//
// Each is seen as n members, of which every one takes a part of some members'
// sources into its own result: a block of lines (`outer` x `rows` lines of
// `run` bytes), copied or combined. A unit is one such transfer; workers share
// all units of an execution evenly, by bytes. Where all members want the same
// (all_gather, all_reduce) one unit writes it to all, so that a source is read
// from memory once, not n times.
#pragma once

#include "runtime/memory.h"

// A collective, worked out. All in bytes.
typedef struct Exchange {
    const RtCollective *c;
    int64_t n; // members of a group
    int64_t outer;
    int64_t rows;
    int64_t run;
    int64_t source_outer; // between blocks and lines of a source
    int64_t source_row;
    int64_t source_step; // reader k's part starts at k * source_step
    int64_t result_outer;
    int64_t result_row;
    int64_t result_step; // what comes from member j, at j * result_step
    bool to_all;         // all readers want the same
    bool from_all;       // a reader combines the parts of all
} Exchange;

// Who does what of an execution: part `worker` of `nworker`; or, if `device` is
// not negative, all that this device reads, for it can write no other's memory.
typedef struct Share {
    int worker;
    int nworker;
    int64_t device;
    int64_t *member; // scratch, this and the next two: ndevice each
    const char **source;
    char **result;
} Share;

// One worker's part in one execution.
typedef struct Execution {
    const RtProgram *program;
    const Exchange *exchange;
    const RtMemory *memory;
    Share share;
    int64_t iter;
} Execution;

Exchange exchange_of(const RtProgram *p, const RtCollective *c);
void exchange_run(const Execution *e);
