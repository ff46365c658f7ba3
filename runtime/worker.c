// A worker walks the steps for its devices, in step with the others at each
// collective.
#include <stdlib.h>

#include "runtime/census.h"
#include "runtime/devices.h"
#include "runtime/runtime.h"
#include "runtime/worker.h"

static bool stopped(const Worker *w)
{
    return barrier_stopped(&w->r->control->barrier);
}

bool worker_sync(Worker *w)
{
    w->synced = true;
    if (w->r->nworker == 1)
        return !stopped(w);
    return barrier_wait(&w->r->control->barrier);
}

bool worker_sync_long(Worker *w)
{
    w->synced = true;
    if (w->r->nworker == 1)
        return !stopped(w);
    return barrier_wait_long(&w->r->control->barrier);
}

// The kernels from step `from` on, up to one that is none, for each device in
// turn. Returns the step after them. A kernel may return long after the run has
// ended; then nothing of the program is looked at any more.
static int run_kernels(Worker *w, int from, int to, int64_t iter)
{
    const RtStep *s = rt_steps(w->r->program);
    int end = from;
    while (end < to && s[end].kind == RT_KERNEL)
        end++;
    for (int64_t d = w->first; d < w->end; d++) {
        char *priv = rt_priv(&w->r->memory, d);
        char *shared = rt_shared(&w->r->memory, d);
        for (int i = from; i < end && !stopped(w); i++) {
            flight_at(w->flight, i, FLIGHT_KERNEL);
            w->r->kernels[s[i].index](priv, shared, d, iter);
            if (w->debugs && !stopped(w))
                nan_look(w->r->program, &w->r->memory, s[i].index, d, iter,
                         w->position + 1 + i - from, w->nan);
        }
    }
    w->position += end - from;
    w->synced = false;
    return end;
}

// All sources are written before, and all have been read after.
static bool run_collective(Worker *w, int step, int64_t iter)
{
    const Run *r = w->r;
    int index = rt_steps(r->program)[step].index;
    flight_collective(w->flight, step, FLIGHT_BEFORE);
    if (!w->synced && !worker_sync(w))
        return false;
    flight_collective(w->flight, step, FLIGHT_MOVING);
    exchange_run(&(Execution){.program = r->program,
                              .exchange = &r->exchange[index],
                              .memory = &r->memory,
                              .share = w->share,
                              .iter = iter});
    if (w->leads)
        r->control->count[index]++;
    flight_collective(w->flight, step, FLIGHT_AFTER);
    if (!worker_sync(w))
        return false;
    flight_collective(w->flight, step, FLIGHT_PASSED);
    return true;
}

// Steps from .. to - 1. Returns false if the run is over before its end.
static bool walk(Worker *w, int from, int to, int64_t iter)
{
    for (int i = from; i < to;) {
        if (stopped(w))
            return false;
        const RtStep *s = &rt_steps(w->r->program)[i];
        if (s->kind == RT_KERNEL) {
            i = run_kernels(w, i, to, iter);
        } else if (s->kind == RT_COLLECTIVE) {
            if (!run_collective(w, i++, iter))
                return false;
        } else {
            for (int64_t k = 0; k < s->trip; k++)
                if (!walk(w, i + 1, i + 1 + s->index, k))
                    return false;
            i += 1 + s->index;
        }
    }
    return !stopped(w);
}

// One line of scratch is as long as the largest group can be.
static bool make_scratch(Share *s, int64_t ndevice)
{
    size_t n = (size_t)ndevice;
    s->member = calloc(n, sizeof s->member[0]);
    s->source = calloc(n, sizeof s->source[0]);
    s->result = calloc(n, sizeof s->result[0]);
    return s->member && s->source && s->result;
}

bool worker_walk(Worker *w)
{
    if (w->debugs)
        *w->nan = (NanFound){0};
    return walk(w, 0, w->r->program->nstep, 0);
}

static void set_up(const Worker *w)
{
    const Run *r = w->r;
    for (int64_t d = w->first; d < w->end; d++) {
        if (r->options->memory)
            census_fill(&r->memory, r->program, d);
        else
            rt_memory_touch(&r->memory, r->program, d);
        rt_memory_constants(&r->memory, r->program, d);
        rt_inputs_load(&r->inputs, r->program, &r->memory, d);
    }
}

static bool run_forward(Worker *w)
{
    Run *r = w->r;
    for (int i = 0; i < r->repeat; i++) {
        double start = rt_now();
        if (!worker_walk(w) || !worker_sync(w))
            return false;
        if (w->leads)
            r->control->seconds[i] = rt_now() - start;
    }
    return true;
}

static void gather(const Worker *w)
{
    const Run *r = w->r;
    bool scalars = r->options->steps && !r->options->dump;
    for (int64_t d = w->first; d < w->end; d++) {
        rt_outputs_gather(&r->outputs, r->program, &r->memory, d, scalars);
        if (r->options->memory)
            census_measure(&r->memory, r->program, d, r->control->used);
    }
}

void worker_run(Run *r, int worker)
{
    Worker w = {
        .r = r,
        .first = run_first_device(r, worker),
        .end = run_first_device(r, worker + 1),
        .leads = worker == 0,
        .debugs = r->options->debug_nan,
        .nan = &r->control->nan[worker],
        .flight = &r->control->flight[worker],
        .share = {.worker = worker,
                  .nworker = r->nworker,
                  .device = r->isolate ? worker : -1},
    };
    flight_at(w.flight, -1, FLIGHT_SETUP);
    if (make_scratch(&w.share, r->program->ndevice)) {
        set_up(&w);
        bool trains = r->options->steps > 0;
        if (worker_sync_long(&w) &&
            (trains ? worker_train(&w) : run_forward(&w))) {
            gather(&w);
            flight_at(w.flight, -1, FLIGHT_END);
        }
    } else {
        barrier_stop(&r->control->barrier, RT_EXIT_INTERNAL);
    }
    free(w.share.member);
    free(w.share.source);
    free(w.share.result);
}
