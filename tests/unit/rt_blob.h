// Programs built by hand, for tests of the runtime, and the files they use.
#pragma once

#include "runtime/devices.h"
#include "runtime/runtime.h"
#include "runtime/safetensors.h"

// Where the test programs keep things.
enum {
    IN = 0,     // in the private segment: x
    OUT = 4096, // and the output
    SENT = 0,   // in the shared segment: what collectives read
};

typedef struct TestBlob {
    RtProgram p;
    RtStep step[16];
    RtCollective collective[8];
    RtTensor tensor[8];
    RtConstant constant[2];
    int32_t data[16];
} TestBlob;

// A mesh whose atoms are these sizes, the first one major.
void blob_init(TestBlob *b, int natom, const int size[]);
void blob_step(TestBlob *b, RtStepKind kind, int index, int64_t trip);
RtTensor *blob_tensor(TestBlob *b, const char *name, RtClass class_,
                      RtDType dtype);
// Appends a dimension. split: NULL if it is whole.
void blob_dim(const TestBlob *b, RtTensor *t, int64_t size,
              const RtSplit *split);

// Whether processes can be tested; the thread sanitizer knows threads only.
extern const bool can_fork;

// What the last run said, results and messages.
extern char said[8192];
int blob_run(const TestBlob *b, RtKernel *const kernels[], RtOptions o);

// A scratch folder for one test program; removing it fails if a file is left
// that is not `in`, `out` or `stats`.
int folder_make(void **state);
int folder_remove(void **state);
const char *path_of(const char *name);

void write_tensor(const char *path, SafeTensor t, const void *data);
// rows x cols numbers from `first` on.
void write_i32(const char *path, const char *name, int64_t rows, int64_t cols,
               int32_t first);
const int32_t *read_i32(SafeFile *f, const char *path, const char *name,
                        int64_t count);
