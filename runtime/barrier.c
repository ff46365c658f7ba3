#define _GNU_SOURCE
#include "runtime/barrier.h"

#include <math.h>
#include <sched.h>
#include <time.h>

#include "runtime/runtime.h"

enum {
    SPINS = 200,   // about 10 us: the others are on their way
    YIELDS = 2000, // then sleep, so as not to take a core from who works
    NAP = 50000,   // nanoseconds
};

double rt_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void barrier_init(Barrier *b, int nworker, double deadline)
{
    atomic_init(&b->count, 0);
    atomic_init(&b->epoch, 0);
    atomic_init(&b->stop, 0);
    b->nworker = nworker;
    b->deadline = deadline;
}

void barrier_stop(Barrier *b, int code)
{
    int none = 0;
    atomic_compare_exchange_strong(&b->stop, &none, code);
}

bool barrier_stopped(Barrier *b)
{
    return atomic_load_explicit(&b->stop, memory_order_relaxed) != 0;
}

// Hints to the core that this is a spin.
static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static bool passed(Barrier *b, uint32_t epoch)
{
    return atomic_load_explicit(&b->epoch, memory_order_acquire) != epoch;
}

static void wait_slowly(Barrier *b, uint32_t epoch, double deadline)
{
    double until = rt_now() + deadline;
    for (int n = 0; !passed(b, epoch) && !barrier_stopped(b); n++) {
        if (n < YIELDS)
            sched_yield();
        else
            nanosleep(&(struct timespec){.tv_nsec = NAP}, NULL);
        if (rt_now() > until)
            barrier_stop(b, RT_EXIT_TIMEOUT);
    }
}

static bool wait_for(Barrier *b, double deadline)
{
    uint32_t epoch = atomic_load_explicit(&b->epoch, memory_order_relaxed);
    uint32_t here =
        1 + atomic_fetch_add_explicit(&b->count, 1, memory_order_acq_rel);
    if (here == (uint32_t)b->nworker) {
        atomic_store_explicit(&b->count, 0, memory_order_relaxed);
        atomic_store_explicit(&b->epoch, epoch + 1, memory_order_release);
        return !barrier_stopped(b);
    }
    for (int i = 0; i < SPINS && !passed(b, epoch); i++)
        relax();
    if (!passed(b, epoch))
        wait_slowly(b, epoch, deadline);
    return !barrier_stopped(b);
}

bool barrier_wait(Barrier *b)
{
    return wait_for(b, b->deadline);
}

bool barrier_wait_long(Barrier *b)
{
    return wait_for(b, HUGE_VAL);
}
