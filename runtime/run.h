// One run of a program: what its workers share. Internal to the runtime.
#pragma once

#include "runtime/barrier.h"
#include "runtime/collective.h"
#include "runtime/flight.h"
#include "runtime/tensors.h"

// In memory that threads and processes share.
typedef struct Control {
    Barrier barrier;
    Flight *flight;  // of each worker
    int64_t *count;  // of each collective: executions; the first worker's
    double *seconds; // of each repeat
} Control;

typedef struct Run {
    const RtProgram *program;
    RtKernel *const *kernels;
    bool isolate;
    int nworker;
    int repeat;
    double deadline;
    RtMapping mapping; // of the control
    Control *control;
    Exchange *exchange; // of each collective
    RtInputs inputs;
    RtOutputs outputs;
    RtMemory memory; // a process of its own has its own `priv`
    // A worker that hangs may outlive the run; the last one frees it.
    _Atomic int users;
} Run;

// Devices first .. end - 1 are worker w's.
int64_t run_first_device(const Run *r, int worker);
// "device 3" or "devices 0-1".
void run_print_devices(const Run *r, int worker, char text[64]);

// All that worker w does: memory, inputs, steps, outputs.
void worker_run(Run *r, int worker);

// Start the workers and see them end. Return an exit code, and say on
// `message` what went wrong.
int run_threads(Run *r, FILE *message);
int run_processes(Run *r, FILE *message);

void run_release(Run *r);
