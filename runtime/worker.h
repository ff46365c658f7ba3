// A worker, and how it walks a program's steps. Internal to the runtime.
#pragma once

#include "runtime/run.h"

typedef struct Worker {
    Run *r;
    int64_t first; // devices first .. end - 1
    int64_t end;
    bool synced;      // nothing has run here since the last barrier
    bool leads;       // counts, tells, decides
    bool debugs;      // looks for NaNs
    NanFound *nan;    // its own finds
    int64_t position; // kernels walked, each turn of a loop counted
    Flight *flight;
    Share share;
} Worker;

// Each returns false if the run is over before its end.
bool worker_walk(Worker *w); // the program, once
bool worker_sync(Worker *w);
bool worker_sync_long(Worker *w); // others may be at files

bool worker_train(Worker *w);
