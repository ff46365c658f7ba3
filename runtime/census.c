#include "runtime/census.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/devices.h"

enum {
    PATTERN = 0xA5,
};

void census_fill(const RtMemory *m, const RtProgram *p, int64_t device)
{
    memset(rt_priv(m, device), PATTERN, (size_t)p->priv_bytes);
    memset(rt_shared(m, device), PATTERN, (size_t)p->shared_bytes);
}

static void measure(const char *segment, int64_t bytes, _Atomic int64_t *used)
{
    while (bytes > 0 && (unsigned char)segment[bytes - 1] == PATTERN)
        bytes--;
    int64_t known = atomic_load(used);
    while (known < bytes && !atomic_compare_exchange_weak(used, &known, bytes))
        ;
}

void census_measure(const RtMemory *m, const RtProgram *p, int64_t device,
                    _Atomic int64_t used[2])
{
    measure(rt_priv(m, device), p->priv_bytes, &used[0]);
    measure(rt_shared(m, device), p->shared_bytes, &used[1]);
}

// Of one device; of outputs those that take over no other's memory.
static int64_t bytes_of(const RtProgram *p, RtClass class_)
{
    int64_t n = 0;
    for (int i = 0; i < p->ntensor; i++) {
        const RtTensor *t = &rt_tensors(p)[i];
        if (t->class_ == (int)class_ && (class_ != RT_OUTPUT || t->donor < 0))
            n += rt_local_bytes(t);
    }
    return n;
}

static int64_t constant_bytes(const RtProgram *p)
{
    int64_t n = 0;
    for (int i = 0; i < p->nconstant; i++)
        n += rt_constants(p)[i].bytes;
    return n;
}

bool census_write(const RtProgram *p, const _Atomic int64_t used[2],
                  const char *path, FILE *message)
{
    const struct {
        const char *class_;
        int64_t bytes;
    } rows[] = {
        {"parameters", bytes_of(p, RT_PARAM)},
        {"optimizer", bytes_of(p, RT_STATE)},
        {"inputs", bytes_of(p, RT_INPUT)},
        {"outputs", bytes_of(p, RT_OUTPUT)},
        {"constants", constant_bytes(p)},
        {"own", p->priv_bytes},
        {"shared", p->shared_bytes},
        {"peak", p->priv_bytes + p->shared_bytes},
        {"own used", atomic_load(&used[0])},
        {"shared used", atomic_load(&used[1])},
    };
    char text[1024];
    int n = snprintf(text, sizeof text, "class\tbytes\n");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%s\t%ld\n",
                      rows[i].class_, (long)rows[i].bytes);
    OutFile f;
    outfile_begin(&f, path, message);
    outfile_write(&f, text, (size_t)n);
    return outfile_end(&f);
}
