// A barrier between workers, threads or processes, that cannot hang.
//
// A waiter spins briefly, then yields the core, then sleeps; after the deadline
// it gives up and tells the others. It lives in memory that all can reach.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct Barrier {
    _Alignas(128) _Atomic uint32_t count; // workers here
    _Alignas(128) _Atomic uint32_t epoch; // barriers passed
    _Alignas(128) _Atomic int stop;       // not 0: all leave, with this code
    int nworker;
    double deadline; // seconds
} Barrier;

void barrier_init(Barrier *b, int nworker, double deadline);
// Returns false if the run is over: stopped, or the deadline has passed.
bool barrier_wait(Barrier *b);
// For as long as it takes: others read or write files.
bool barrier_wait_long(Barrier *b);
// Ends the run. The first one's code counts.
void barrier_stop(Barrier *b, int code);
bool barrier_stopped(Barrier *b);

double rt_now(void); // seconds, from any moment on
