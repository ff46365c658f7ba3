// The thin runtime: runs a program on N devices of this machine.
#pragma once

#include <stdio.h>

#include "runtime/program.h"

enum { // exit codes
    RT_EXIT_OK = 0,
    RT_EXIT_INPUT = 1,    // bad input, or an output that cannot be written
    RT_EXIT_USAGE = 2,
    RT_EXIT_INTERNAL = 70,
    RT_EXIT_TIMEOUT = 75,
};

typedef struct RtOptions {
    const char *load;  // parameters: a .safetensors file; NULL: none
    const char *feed;  // inputs
    const char *dump;  // outputs; NULL: none
    const char *stats; // counters per collective, TSV; NULL: none
    bool isolate;      // one process per device; collectives' buffers shared
    int workers;       // 0: min(devices, cores)
    double deadline;   // seconds any wait may last; 0: 60
    int repeat;        // how often to run the steps (for benchmarks); 0: once
} RtOptions;

// The command line of an executable: parses, runs, reports to stderr. Returns
// the exit code: 0 ok, 1 bad input, 2 usage, 70 internal, 75 timeout.
int rt_main(int argc, char *argv[], const char *blob, RtKernel *const kernels[]);

// The same without parsing. `message` gets what is wrong, one fault a line.
// scalar outputs (loss) are written to `out`, "name value" a line, if not NULL.
int rt_run(const char *blob, RtKernel *const kernels[], const RtOptions *o,
           FILE *out, FILE *message);
