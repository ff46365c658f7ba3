#define _GNU_SOURCE
#include "runtime/run.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/census.h"
#include "runtime/devices.h"
#include "runtime/interrupt.h"
#include "runtime/options.h"
#include "runtime/runtime.h"

#define DEFAULT_DEADLINE 60.0 // seconds

int64_t run_first_device(const Run *r, int worker)
{
    int64_t n = r->program->ndevice;
    return (worker * n + r->nworker - 1) / r->nworker;
}

void run_print_devices(const Run *r, int worker, char text[64])
{
    long first = (long)run_first_device(r, worker);
    long last = (long)run_first_device(r, worker + 1) - 1;
    if (first == last)
        snprintf(text, 64, "device %ld", first);
    else
        snprintf(text, 64, "devices %ld-%ld", first, last);
}

static int count_cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 1;
    return CPU_COUNT(&set);
}

// One mapping holds the control and its arrays.
static bool map_control(Run *r)
{
    size_t nflight = (size_t)r->nworker;
    size_t ncount = (size_t)r->program->ncollective;
    size_t nshard = (size_t)r->program->ndevice;
    size_t bytes = sizeof(Control) + nflight * sizeof(Flight) +
                   nflight * sizeof(NanFound) + nshard * sizeof(ShardSum) +
                   ncount * sizeof(int64_t) +
                   (size_t)r->repeat * sizeof(double);
    if (!rt_map(&r->mapping, (int64_t)bytes, true))
        return false;
    r->control = (Control *)r->mapping.base;
    r->control->flight = (Flight *)(r->control + 1);
    r->control->nan = (NanFound *)(r->control->flight + nflight);
    r->control->sum = (ShardSum *)(r->control->nan + nflight);
    r->control->count = (int64_t *)(r->control->sum + nshard);
    r->control->seconds = (double *)(r->control->count + ncount);
    barrier_init(&r->control->barrier, r->nworker, r->deadline);
    return true;
}

static bool make_exchanges(Run *r)
{
    const RtProgram *p = r->program;
    r->exchange = calloc((size_t)p->ncollective + 1, sizeof r->exchange[0]);
    for (int i = 0; i < p->ncollective && r->exchange; i++)
        r->exchange[i] = exchange_of(p, &rt_collectives(p)[i]);
    return r->exchange != NULL;
}

static Run *make_run(const RtProgram *p, RtKernel *const kernels[],
                     const RtOptions *o, FILE *message)
{
    Run *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    atomic_init(&r->users, 1);
    r->program = p;
    r->kernels = kernels;
    r->options = o;
    r->message = message;
    r->isolate = o->isolate;
    r->repeat = o->repeat > 0 ? o->repeat : 1;
    r->deadline = o->deadline > 0 ? o->deadline : DEFAULT_DEADLINE;
    int most = o->workers > 0 ? o->workers : count_cores();
    if (o->isolate || most > p->ndevice)
        most = (int)p->ndevice;
    r->nworker = most;
    if (map_control(r) && make_exchanges(r))
        return r;
    run_release(r);
    return NULL;
}

void run_fail(Run *r, int code, const char *text)
{
    int free_ = 0;
    if (atomic_compare_exchange_strong(&r->control->is_failed, &free_, 1))
        snprintf(r->control->said, sizeof r->control->said, "%s", text);
    barrier_stop(&r->control->barrier, code);
}

void run_release(Run *r)
{
    if (atomic_fetch_sub(&r->users, 1) != 1)
        return;
    rt_inputs_close(&r->inputs);
    rt_outputs_unmap(&r->outputs);
    rt_memory_unmap(&r->memory);
    rt_unmap(&r->mapping);
    free(r->exchange);
    free(r);
}

// Memory comes after the inputs are known to be good. A process that is
// isolated maps its private segment itself.
static bool map_memory(Run *r, FILE *message)
{
    const RtProgram *p = r->program;
    if (rt_outputs_map(p, r->options->steps > 0, &r->outputs) &&
        rt_memory_map_shared(&r->memory, p, r->isolate) &&
        (r->isolate || rt_memory_map_priv(&r->memory, p, 0, p->ndevice)))
        return true;
    fprintf(message, "cannot map %ld + %ld bytes for each of %ld devices: %s\n",
            (long)p->priv_bytes, (long)p->shared_bytes, (long)p->ndevice,
            strerror(errno));
    return false;
}

static void tell_timeout(const Run *r, FILE *message)
{
    fprintf(message, "a worker waited for more than %g s\n", r->deadline);
    for (int w = 0; w < r->nworker; w++) {
        char devices[64];
        run_print_devices(r, w, devices);
        flight_dump(&r->control->flight[w], r->program, w, devices, message);
    }
}

static bool write_stats(const Run *r, const char *path, FILE *message)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    fputs("id\tkind\tcount\tbytes\n", f);
    for (int i = 0; i < r->program->ncollective; i++) {
        const RtCollective *c = &rt_collectives(r->program)[i];
        long count = (long)r->control->count[i];
        fprintf(f, "c%d\t%s\t%ld\t%ld\n", (int)c->id,
                rt_collective_name[c->kind], count, count * (long)c->bytes);
    }
    fclose(f);
    OutFile out;
    outfile_begin(&out, path, message);
    outfile_write(&out, text, size);
    free(text);
    return outfile_end(&out);
}

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void tell_times(Run *r, FILE *message)
{
    double *s = r->control->seconds;
    qsort(s, (size_t)r->repeat, sizeof s[0], by_value);
    fprintf(message, "%d runs: min %.4g ms, median %.4g ms\n", r->repeat,
            s[0] * 1e3, s[r->repeat / 2] * 1e3);
}

static int write_results(Run *r, const RtOptions *o, FILE *out, FILE *message)
{
    bool ok = true;
    if (out) {
        rt_outputs_print(&r->outputs, r->program, out);
        if (fflush(out) != 0 || ferror(out)) {
            fprintf(message, "cannot print the results: %s\n", strerror(errno));
            ok = false;
        }
    }
    if (o->dump && !rt_outputs_dump(&r->outputs, r->program, o->dump, message))
        ok = false;
    if (o->stats && !write_stats(r, o->stats, message))
        ok = false;
    if (o->memory &&
        !census_write(r->program, r->control->used, o->memory, message))
        ok = false;
    if (r->repeat > 1)
        tell_times(r, message);
    return ok ? RT_EXIT_OK : RT_EXIT_INPUT;
}

// What can be known to fail is told before the first step.
static bool open_files(Run *r, const RtOptions *o, FILE *message)
{
    const char *const written[] = {o->dump, o->stats, o->memory, o->metrics};
    bool ok = rt_inputs_open(r->program, o, message, &r->inputs);
    for (size_t i = 0; i < sizeof written / sizeof written[0]; i++)
        ok = (!written[i] || outfile_probe(written[i], message)) && ok;
    if (ok && o->save)
        ok = rt_saver_open(r->program, o->save, o->keep, r->inputs.start.step,
                           message, &r->saver);
    if (ok && o->metrics) {
        r->metrics = fopen(o->metrics, "we");
        ok = r->metrics != NULL;
        if (!ok)
            fprintf(message, "%s: cannot write: %s\n", o->metrics,
                    strerror(errno));
    }
    return ok;
}

static int run_workers(Run *r, FILE *message)
{
    bool trains = r->options->steps > 0;
    if (trains)
        interrupt_begin(&r->control->interrupts);
    int code = r->isolate ? run_processes(r, message) : run_threads(r, message);
    if (trains)
        interrupt_end();
    if (trains && isatty(fileno(message)))
        fputc('\n', message); // the line of the last step is open
    fputs(r->control->said, message);
    if (code == RT_EXIT_TIMEOUT)
        tell_timeout(r, message);
    return code;
}

static int run(Run *r, const RtOptions *o, FILE *out, FILE *message)
{
    int code = RT_EXIT_INPUT;
    if (open_files(r, o, message))
        code = map_memory(r, message) ? run_workers(r, message)
                                      : RT_EXIT_INTERNAL;
    if (!code)
        code = write_results(r, o, out, message);
    rt_saver_close(&r->saver);
    if (r->metrics)
        fclose(r->metrics);
    r->metrics = NULL;
    return code;
}

// Not a proof, only what tells a wrong or stale file from a program.
static bool is_program(const RtProgram *p)
{
    if (p->magic != RT_MAGIC || p->ndevice < 1)
        return false;
    for (int i = 0; i < p->ncollective; i++)
        if (!rt_collectives(p)[i].source.is_shared)
            return false;
    return true;
}

int rt_run(const char *blob, RtKernel *const kernels[], const RtOptions *o,
           FILE *out, FILE *message)
{
    const RtProgram *p = (const RtProgram *)blob;
    if (!options_check(o, message))
        return RT_EXIT_USAGE;
    if (!is_program(p)) {
        fputs("the program is not for this runtime\n", message);
        return RT_EXIT_INTERNAL;
    }
    Run *r = make_run(p, kernels, o, message);
    if (!r) {
        fputs("out of memory\n", message);
        return RT_EXIT_INTERNAL;
    }
    int code = run(r, o, out, message);
    run_release(r);
    return code;
}

int rt_run_programs(const RtPrograms *p, const RtOptions *o, FILE *out,
                    FILE *message)
{
    if (o->steps && !p->step) {
        fputs("--steps: the model has no training step: no `train` with an "
              "optimizer\n", message);
        return RT_EXIT_USAGE;
    }
    if (o->steps)
        return rt_run(p->step, p->step_kernels, o, out, message);
    return rt_run(p->forward, p->forward_kernels, o, out, message);
}
