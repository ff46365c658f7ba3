#include "rt_blob.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = P_tmpdir "/shardc-runtime-XXXXXX";
char said[8192];

#if !defined(__has_feature)
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
const bool can_fork = false;
#else
const bool can_fork = true;
#endif

void blob_init(TestBlob *b, int natom, const int size[])
{
    *b = (TestBlob){.p = {.magic = RT_MAGIC,
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

void blob_step(TestBlob *b, RtStepKind kind, int index, int64_t trip)
{
    b->step[b->p.nstep++] = (RtStep){(int32_t)kind, index, trip};
}

RtTensor *blob_tensor(TestBlob *b, const char *name, RtClass class_,
                      RtDType dtype)
{
    RtTensor *t = &b->tensor[b->p.ntensor++];
    strcpy(t->name, name);
    t->class_ = (int32_t)class_;
    t->dtype = (int32_t)dtype;
    return t;
}

void blob_dim(const TestBlob *b, RtTensor *t, int64_t size,
              const RtSplit *split)
{
    int d = t->rank++;
    t->dim[d] = size;
    if (split)
        t->split[d] = *split;
    int64_t n = rt_pieces(&b->p, &t->split[d]);
    t->local[d] = (size + n - 1) / n;
}

const char *path_of(const char *name)
{
    static char path[4][256];
    static int next;
    char *p = path[next++ % 4];
    snprintf(p, sizeof path[0], "%s/%s", folder, name);
    return p;
}

int blob_run(const TestBlob *b, RtKernel *const kernels[], RtOptions o)
{
    memset(said, 0, sizeof said);
    FILE *f = fmemopen(said, sizeof said - 1, "w");
    int code = rt_run((const char *)b, kernels, &o, f, f);
    fclose(f);
    return code;
}

void write_tensor(const char *path, SafeTensor t, const void *data)
{
    OutFile f;
    outfile_begin(&f, path, stderr);
    safetensors_begin(&f, &t, 1);
    outfile_write(&f, data, (size_t)t.end);
    assert_true(outfile_end(&f));
}

void write_i32(const char *path, const char *name, int64_t rows, int64_t cols,
               int32_t first)
{
    int32_t data[512];
    for (int i = 0; i < rows * cols; i++)
        data[i] = first + i;
    SafeTensor t = {.name = name,
                    .dtype = "I32",
                    .rank = 2,
                    .dim = {rows, cols},
                    .end = rows * cols * 4};
    write_tensor(path, t, data);
}

const int32_t *read_i32(SafeFile *f, const char *path, const char *name,
                        int64_t count)
{
    assert_true(safetensors_open(path, stderr, f));
    const SafeTensor *t = safetensors_find(f, name);
    assert_non_null(t);
    assert_int_equal(t->end - t->begin, count * 4);
    return (const void *)(f->data + t->begin);
}

int folder_make(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

int folder_remove(void **state)
{
    (void)state;
    const char *names[] = {"in", "out", "stats"};
    for (size_t i = 0; i < 3; i++)
        unlink(path_of(names[i]));
    return rmdir(folder); // fails if a temporary file was left
}
