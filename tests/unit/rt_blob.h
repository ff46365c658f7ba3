// A program built by hand, for tests of the runtime: the tables of one blob.
#pragma once

#include <stddef.h>
#include <string.h>

#include "runtime/devices.h"
#include "runtime/runtime.h"

typedef struct TestBlob {
    RtProgram p;
    RtStep step[16];
    RtCollective collective[8];
    RtTensor tensor[8];
    RtConstant constant[2];
    int32_t data[16];
} TestBlob;

// A mesh whose atoms are these sizes, the first one major.
static inline void blob_init(TestBlob *b, int natom, const int size[])
{
    *b = (TestBlob){
        .p = {.magic = RT_MAGIC,
              .ndevice = 1,
              .priv_bytes = 1 << 16,
              .shared_bytes = 1 << 16,
              .natom = natom,
              .mesh = "test",
              .steps = offsetof(TestBlob, step),
              .collectives = offsetof(TestBlob, collective),
              .tensors = offsetof(TestBlob, tensor),
              .constants = offsetof(TestBlob, constant)}};
    for (int i = natom - 1; i >= 0; i--) {
        b->p.atom[i] = (RtAtom){.size = size[i], .stride = b->p.ndevice};
        b->p.ndevice *= size[i];
    }
}

static inline void blob_step(TestBlob *b, RtStepKind kind, int index,
                             int64_t trip)
{
    b->step[b->p.nstep++] = (RtStep){(int32_t)kind, index, trip};
}

static inline RtTensor *blob_tensor(TestBlob *b, const char *name,
                                    RtClass class_, RtDType dtype)
{
    RtTensor *t = &b->tensor[b->p.ntensor++];
    strcpy(t->name, name);
    t->class_ = (int32_t)class_;
    t->dtype = (int32_t)dtype;
    return t;
}

// Appends a dimension. split: NULL if it is whole.
static inline void blob_dim(const TestBlob *b, RtTensor *t, int64_t size,
                            const RtSplit *split)
{
    int d = t->rank++;
    t->dim[d] = size;
    if (split)
        t->split[d] = *split;
    int64_t n = rt_pieces(&b->p, &t->split[d]);
    t->local[d] = (size + n - 1) / n;
}
