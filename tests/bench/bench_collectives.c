// Collectives against a floor: plain streams, on the same workers, that read
// and write as many bytes. Floor and collective alternate; a ratio is the
// median over pairs. 1 means that a collective costs what its bytes cost.
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/barrier.h"
#include "runtime/collective.h"
#include "runtime/devices.h"

enum {
    N = 4, // devices
    PAIRS = 21,
    LARGEST = 16 << 20,
    TARGET = 64 << 20, // bytes moved between two looks at the clock
};

typedef struct Bench {
    RtProgram program;
    RtMemory memory;
    Barrier barrier;
    int nworker;
    RtCollective collective;
    Exchange exchange;
    int64_t bytes; // of a collective, per device, by the report's convention
    int rounds;
    double floor[PAIRS];
    double time[PAIRS];
} Bench;

typedef struct Worker {
    Bench *b;
    int index;
} Worker;

static const int kinds[] = {RT_ALL_GATHER, RT_REDUCE_SCATTER, RT_ALL_REDUCE,
                            RT_ALL_TO_ALL};
static const int64_t sizes[] = {64 << 10, 1 << 20, 4 << 20, LARGEST};

// Four streams into one.
static void sum_parts(const float *restrict from, int64_t n, float *restrict to)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = from[i] + from[n + i] + from[2 * n + i] + from[3 * n + i];
}

// What one device's share of the traffic costs at least: contiguous, from its
// own memory to its own memory.
static void run_floor(const Bench *b, int64_t device)
{
    const char *from = rt_shared(&b->memory, device);
    char *to = rt_priv(&b->memory, device);
    int64_t part = b->bytes / N;
    switch (b->collective.kind) {
    case RT_ALL_GATHER: // reads a part, writes all
        memcpy(to, from, (size_t)part);
        memset(to + part, 1, (size_t)(b->bytes - part));
        break;
    case RT_REDUCE_SCATTER: // reads all, writes a part
        sum_parts((const void *)from, part / 4, (void *)to);
        break;
    default: memcpy(to, from, (size_t)b->bytes);
    }
}

static double time_floor(Worker *w)
{
    Bench *b = w->b;
    barrier_wait(&b->barrier);
    double start = rt_now();
    for (int i = 0; i < b->rounds; i++) {
        for (int64_t d = 0; d < N; d++)
            if (d * b->nworker / N == w->index)
                run_floor(b, d);
        barrier_wait(&b->barrier);
    }
    return (rt_now() - start) / b->rounds;
}

static double time_collective(Worker *w)
{
    Bench *b = w->b;
    int64_t member[N];
    const char *source[N];
    char *result[N];
    Share share = {.worker = w->index,
                   .nworker = b->nworker,
                   .device = -1,
                   .member = member,
                   .source = source,
                   .result = result};
    Execution e = {&b->program, &b->exchange, &b->memory, share, 0};
    barrier_wait(&b->barrier);
    double start = rt_now();
    for (int i = 0; i < b->rounds; i++) {
        exchange_run(&e);
        barrier_wait(&b->barrier);
    }
    return (rt_now() - start) / b->rounds;
}

static void set_up(Bench *b, int kind, int64_t bytes)
{
    b->bytes = bytes;
    b->rounds = (int)(TARGET / N / bytes) + 1;
    b->collective = (RtCollective){.kind = kind,
                                   .rank = 3,
                                   .group = {.n = 1},
                                   .split_dim = 0,
                                   .concat_dim = kind == RT_ALL_TO_ALL ? 1 : 0,
                                   .dim = {N, 8, bytes / 4 / N / 8},
                                   .source = {.is_shared = 1}};
    if (kind == RT_ALL_GATHER)
        b->collective.dim[0] = 1;
    b->exchange = exchange_of(&b->program, &b->collective);
}

static int by_value(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static double median(double x[PAIRS])
{
    qsort(x, PAIRS, sizeof x[0], by_value);
    return x[PAIRS / 2];
}

static double report(Bench *b)
{
    double ratio[PAIRS];
    for (int i = 0; i < PAIRS; i++)
        ratio[i] = b->floor[i] / b->time[i];
    double r = median(ratio);
    printf("%-14s %6ld KiB  floor %9.1f us  collective %9.1f us  ratio %.2f\n",
           rt_collective_name[b->collective.kind], (long)b->bytes >> 10,
           median(b->floor) * 1e6, median(b->time) * 1e6, r);
    fflush(stdout);
    return r;
}

static void *run(void *arg)
{
    Worker *w = arg;
    Bench *b = w->b;
    double logs = 0;
    for (int i = 0; i < 16; i++) {
        if (w->index == 0)
            set_up(b, kinds[i / 4], sizes[i % 4]);
        barrier_wait(&b->barrier);
        for (int k = 0; k < PAIRS; k++) {
            double floor = time_floor(w), time = time_collective(w);
            if (w->index == 0) {
                b->floor[k] = floor;
                b->time[k] = time;
            }
        }
        if (w->index == 0)
            logs += log(report(b));
        barrier_wait(&b->barrier);
    }
    if (w->index == 0)
        printf("geometric mean of the ratios %.3f\n", exp(logs / 16));
    return NULL;
}

int main(void)
{
    static Bench b = {.program = {.ndevice = N,
                                  .natom = 1,
                                  .atom = {{.size = N, .stride = 1}},
                                  .priv_bytes = LARGEST,
                                  .shared_bytes = LARGEST}};
    cpu_set_t cores;
    sched_getaffinity(0, sizeof cores, &cores);
    b.nworker = CPU_COUNT(&cores) < N ? CPU_COUNT(&cores) : N;
    barrier_init(&b.barrier, b.nworker, 60);
    if (!rt_memory_map_shared(&b.memory, &b.program, false) ||
        !rt_memory_map_priv(&b.memory, &b.program, 0, N))
        return 1;
    for (int64_t d = 0; d < N; d++)
        rt_memory_touch(&b.memory, &b.program, d);
    Worker worker[N];
    pthread_t thread[N];
    for (int i = 0; i < b.nworker; i++) {
        worker[i] = (Worker){&b, i};
        pthread_create(&thread[i], NULL, run, &worker[i]);
    }
    for (int i = 0; i < b.nworker; i++)
        pthread_join(thread[i], NULL);
    return 0;
}
