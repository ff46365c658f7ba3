// The devices' memory: two segments each, in huge pages, mapped once.
#pragma once

#include <stddef.h>

#include "runtime/program.h"

typedef struct RtMapping {
    char *base; // NULL: none
    size_t bytes;
} RtMapping;

// Segments of devices first, first + 1, ...; a multiple of a page apart.
typedef struct RtMemory {
    RtMapping priv;
    RtMapping shared;
    int64_t first; // the device of the first `priv` segment
    int64_t priv_stride;
    int64_t shared_stride;
} RtMemory;

// False, with errno set, if there is no room. `across`: for other processes,
// too. The pages come with the first touch.
bool rt_map(RtMapping *m, int64_t bytes, bool across);
void rt_unmap(RtMapping *m);

// The shared segments of all devices.
bool rt_memory_map_shared(RtMemory *m, const RtProgram *p, bool across);
// The private segments of devices first .. first + n - 1.
bool rt_memory_map_priv(RtMemory *m, const RtProgram *p, int64_t first,
                        int64_t n);
void rt_memory_unmap(RtMemory *m);

// Brings a device's pages in, on the core of the caller.
void rt_memory_touch(const RtMemory *m, const RtProgram *p, int64_t device);
void rt_memory_constants(const RtMemory *m, const RtProgram *p, int64_t device);

char *rt_priv(const RtMemory *m, int64_t device);
char *rt_shared(const RtMemory *m, int64_t device);
char *rt_address(const RtMemory *m, const RtPlace *place, int64_t device,
                 int64_t iter);
