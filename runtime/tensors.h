// A program's tensors and the files they come from and go to.
#pragma once

#include "runtime/memory.h"
#include "runtime/runtime.h"
#include "runtime/safetensors.h"

typedef struct RtInputs {
    SafeFile load;
    SafeFile feed;
    const char **data; // of each tensor, global; NULL: an output
} RtInputs;

// Outputs in global shape, in one mapping that processes share.
typedef struct RtOutputs {
    RtMapping mapping;
    int64_t *offset; // of each tensor; -1: no output
} RtOutputs;

// Opens the files and checks all that the program takes from them. Returns
// false after saying every fault.
bool rt_inputs_open(const RtProgram *p, const RtOptions *o, FILE *message,
                    RtInputs *in);
void rt_inputs_close(RtInputs *in);
void rt_inputs_load(const RtInputs *in, const RtProgram *p, const RtMemory *m,
                    int64_t device);

bool rt_outputs_map(const RtProgram *p, RtOutputs *out);
void rt_outputs_unmap(RtOutputs *out);
void rt_outputs_gather(const RtOutputs *out, const RtProgram *p,
                       const RtMemory *m, int64_t device);
// Scalars, "name value" a line.
void rt_outputs_print(const RtOutputs *out, const RtProgram *p, FILE *f);
bool rt_outputs_dump(const RtOutputs *out, const RtProgram *p, const char *path,
                     FILE *message);
