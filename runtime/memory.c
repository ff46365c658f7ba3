#define _GNU_SOURCE
#include "runtime/memory.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "runtime/devices.h"

enum {
    PAGE = 4096,
    HUGE = 2 << 20,
};

static int64_t round_up(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

// A mapping that starts at a huge page: one too long, its ends cut off.
bool rt_map(RtMapping *m, int64_t bytes, bool across)
{
    size_t size = (size_t)round_up(bytes ? bytes : 1, HUGE);
    int flags = MAP_ANONYMOUS | (across ? MAP_SHARED : MAP_PRIVATE);
    char *p = mmap(NULL, size + HUGE, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (p == MAP_FAILED)
        return false;
    size_t before = -(uintptr_t)p % HUGE;
    if (before)
        munmap(p, before);
    munmap(p + before + size, HUGE - before);
    *m = (RtMapping){p + before, size};
    madvise(m->base, m->bytes, MADV_HUGEPAGE); // as good as it gets
    return true;
}

void rt_unmap(RtMapping *m)
{
    if (m->base)
        munmap(m->base, m->bytes);
    *m = (RtMapping){0};
}

// n segments of `bytes`; they do not share a page.
static bool map_segments(RtMapping *m, int64_t bytes, int64_t n, bool across,
                         int64_t *stride)
{
    int64_t all;
    *stride = round_up(bytes, PAGE);
    if (__builtin_mul_overflow(*stride, n, &all) || all > INT64_MAX / 2) {
        errno = ENOMEM;
        return false;
    }
    return rt_map(m, all, across);
}

bool rt_memory_map_shared(RtMemory *m, const RtProgram *p, bool across)
{
    return map_segments(&m->shared, p->shared_bytes, p->ndevice, across,
                        &m->shared_stride);
}

bool rt_memory_map_priv(RtMemory *m, const RtProgram *p, int64_t first,
                        int64_t n)
{
    m->first = first;
    return map_segments(&m->priv, p->priv_bytes, n, false, &m->priv_stride);
}

void rt_memory_unmap(RtMemory *m)
{
    rt_unmap(&m->priv);
    rt_unmap(&m->shared);
}

char *rt_priv(const RtMemory *m, int64_t device)
{
    return m->priv.base + (device - m->first) * m->priv_stride;
}

char *rt_shared(const RtMemory *m, int64_t device)
{
    return m->shared.base + device * m->shared_stride;
}

char *rt_address(const RtMemory *m, const RtPlace *place, int64_t device,
                 int64_t iter)
{
    char *base = place->is_shared ? rt_shared(m, device) : rt_priv(m, device);
    return base + place->at + iter * place->step;
}

// The memory is zero; only its pages have to come in.
static void touch(volatile char *p, int64_t bytes)
{
    for (int64_t i = 0; i < bytes; i += PAGE)
        p[i] = 0;
}

void rt_memory_touch(const RtMemory *m, const RtProgram *p, int64_t device)
{
    touch(rt_priv(m, device), p->priv_bytes);
    touch(rt_shared(m, device), p->shared_bytes);
}

void rt_memory_constants(const RtMemory *m, const RtProgram *p, int64_t device)
{
    const RtConstant *c = rt_constants(p);
    for (int i = 0; i < p->nconstant; i++)
        memcpy(rt_address(m, &c[i].place, device, 0),
               (const char *)p + c[i].data, (size_t)c[i].bytes);
}
