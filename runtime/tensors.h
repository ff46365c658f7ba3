// A program's tensors and the files they come from and go to.
#pragma once

#include "runtime/checkpoint.h"
#include "runtime/data.h"
#include "runtime/runtime.h"

typedef struct RtInputs {
    SafeFile load;
    SafeFile feed;
    const char **data; // of each tensor, global; NULL: not from a file
    RtCheckpoint checkpoint;
    RtData batches;
    bool has_checkpoint;
    bool has_batches;
    bool makes_values; // of tensors that no file has: their first ones
    RtProgress start;
} RtInputs;

// Whether the file's tensor is what the program wants.
bool rt_same_type(const RtTensor *t, const SafeTensor *found);
// "PATH: tensor X: wanted .., found ..". found: NULL if there is none.
void rt_print_mismatch(const RtTensor *t, const SafeTensor *found,
                       const char *path, FILE *message);

// Outputs in global shape, in one mapping that processes share.
typedef struct RtOutputs {
    bool trains;
    RtMapping mapping;
    int64_t *offset; // of each tensor; -1: no output
} RtOutputs;

// Opens the files and checks all that the program takes from them. Returns
// false after saying every fault.
bool rt_inputs_open(const RtProgram *p, const RtOptions *o, FILE *message,
                    RtInputs *in);
void rt_inputs_close(RtInputs *in); // the program may be gone
// All of a device's tensors, before the first step.
void rt_inputs_load(const RtInputs *in, const RtProgram *p, const RtMemory *m,
                    int64_t device);
// A batch's part of a device; nothing if every step has the same.
void rt_inputs_batch(const RtInputs *in, const RtProgram *p, const RtMemory *m,
                     int64_t device, int64_t position);

// trains: without the states, which are no results.
bool rt_outputs_map(const RtProgram *p, bool trains, RtOutputs *out);
void rt_outputs_unmap(RtOutputs *out);
// scalars: those alone.
void rt_outputs_gather(const RtOutputs *out, const RtProgram *p,
                       const RtMemory *m, int64_t device, bool scalars);
double rt_scalar_value(const RtTensor *t, const char *data);
// Scalars, "name value" a line.
void rt_outputs_print(const RtOutputs *out, const RtProgram *p, FILE *f);
bool rt_outputs_dump(const RtOutputs *out, const RtProgram *p, const char *path,
                     FILE *message);
