// One run of a program: what its workers share. Internal to the runtime.
#pragma once

#include "runtime/barrier.h"
#include "runtime/collective.h"
#include "runtime/flight.h"
#include "runtime/nan.h"
#include "runtime/tensors.h"

enum {
    MAX_SAID = 2048,
};

// In memory that threads and processes share.
typedef struct Control {
    Barrier barrier;
    Flight *flight;  // of each worker
    int64_t *count;  // of each collective: executions; the first worker's
    double *seconds; // of each repeat
    NanFound *nan;   // of each worker
    ShardSum *sum;   // of each file of a checkpoint
    _Atomic int64_t used[2]; // bytes of a priv and of a shared segment
    _Atomic int interrupts;  // signals that ask for an end
    _Atomic int is_failed;   // `said` has an owner
    char said[MAX_SAID];     // why the run failed
    // Written by the first worker between two barriers, read after the second.
    bool save;
    bool stop;
} Control;

typedef struct Run {
    const RtProgram *program;
    RtKernel *const *kernels;
    const RtOptions *options; // valid while the caller waits
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
    RtSaver saver;
    FILE *metrics; // NULL: none
    FILE *message;
    // A worker that hangs may outlive the run; the last one frees it.
    _Atomic int users;
} Run;

// Devices first .. end - 1 are worker w's.
int64_t run_first_device(const Run *r, int worker);
// "device 3" or "devices 0-1".
void run_print_devices(const Run *r, int worker, char text[64]);

// Ends the run for all. The first text that is given is told in the end.
void run_fail(Run *r, int code, const char *text);

// All that worker w does: memory, inputs, steps, outputs.
void worker_run(Run *r, int worker);

// Start the workers and see them end. Return an exit code, and say on
// `message` what went wrong.
int run_threads(Run *r, FILE *message);
int run_processes(Run *r, FILE *message);

void run_release(Run *r);
