// The thin runtime: runs a program on N devices of this machine.
#pragma once

#include <stdio.h>

#include "runtime/program.h"

enum { // exit codes
    RT_EXIT_OK = 0,
    RT_EXIT_INPUT = 1, // bad input, or an output that cannot be written
    RT_EXIT_USAGE = 2,
    RT_EXIT_INTERNAL = 70,
    RT_EXIT_TIMEOUT = 75,
};

typedef struct RtOptions {
    const char *load;   // parameters: a .safetensors file, or a checkpoint
    const char *feed;   // inputs
    const char *dump;   // outputs; NULL: none
    const char *stats;  // counters per collective, TSV; NULL: none
    const char *memory; // bytes by class, and how far memory was used
    bool isolate;       // one process per device; collectives' buffers shared
    int workers;        // 0: min(devices, cores)
    double deadline;    // seconds any wait may last; 0: 60
    int repeat;         // how often to run (for benchmarks); 0: once
    // Training. The rest is for that alone.
    int steps;             // 0: the forward pass
    const char *data;      // token ids; NULL and no feed: made up
    const char *data_type; // "u16" or "u32"; NULL: u16
    const char *seed;      // a number; NULL: the checkpoint's, or 0
    const char *save;      // a directory of checkpoints
    int save_every;        // 0: only at the end
    int keep;              // 0: all
    const char *metrics;   // a JSON object a step
    bool debug_nan;
} RtOptions;

// What an executable holds. A model without an optimizer has no step: NULL.
typedef struct RtPrograms {
    const char *forward;
    RtKernel *const *forward_kernels;
    const char *step;
    RtKernel *const *step_kernels;
} RtPrograms;

// The command line of an executable: parses, runs, reports to stderr. Returns
// the exit code: 0 ok, 1 bad input, 2 usage, 70 internal, 75 timeout.
int rt_main(int argc, char *argv[], const RtPrograms *p);

// The same without parsing: runs the forward pass, or with o->steps trains.
// `message` gets what is wrong, one fault a line, and the line of each step;
// scalar outputs (loss) are written to `out`, "name value" a line, if not NULL.
int rt_run_programs(const RtPrograms *p, const RtOptions *o, FILE *out,
                    FILE *message);
int rt_run(const char *blob, RtKernel *const kernels[], const RtOptions *o,
           FILE *out, FILE *message);
