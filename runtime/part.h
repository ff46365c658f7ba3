// A device's part of a tensor: between global shape and local memory.
#pragma once

#include "runtime/program.h"

// Takes the device's part out of `global`; padding becomes zero.
void rt_scatter(const RtProgram *p, const RtTensor *t, int64_t device,
                const char *global, char *local);
// Puts it into `global`, without its padding. Of devices that hold copies of
// one part only the first writes.
void rt_gather(const RtProgram *p, const RtTensor *t, int64_t device,
               const char *local, char *global);

// Whether no device with a lower number holds the same part.
bool rt_is_first(const RtProgram *p, const RtTensor *t, int64_t device);

int64_t rt_tensor_bytes(const RtTensor *t); // in global shape
