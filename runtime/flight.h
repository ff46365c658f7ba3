// The flight ring: what each worker did last, to be told when a run stalls.
//
// It lives in memory that all workers reach; each writes its own ring, anyone
// may read.
#pragma once

#include <stdatomic.h>
#include <stdio.h>

#include "runtime/program.h"

enum {
    FLIGHT_SIZE = 16,
};

typedef enum FlightState {
    FLIGHT_SETUP,
    FLIGHT_KERNEL, // in a kernel
    FLIGHT_BEFORE, // waits for the sources
    FLIGHT_MOVING, // reads and writes
    FLIGHT_AFTER,  // waits until all have read
    FLIGHT_PASSED,
    FLIGHT_END, // has run all steps
} FlightState;

typedef struct FlightEntry {
    _Atomic int step;
    _Atomic int state;
} FlightEntry;

// `entry` holds collectives, the latest at (n - 1) % FLIGHT_SIZE.
typedef struct Flight {
    _Alignas(128) _Atomic int step; // what the worker does now
    _Atomic int state;
    _Atomic unsigned n;
    FlightEntry entry[FLIGHT_SIZE];
} Flight;

void flight_at(Flight *f, int step, FlightState state);
// A collective: its first state makes a new entry.
void flight_collective(Flight *f, int step, FlightState state);
// `devices`: "device 3" or "devices 0-1".
void flight_dump(const Flight *f, const RtProgram *p, int worker,
                 const char *devices, FILE *to);
