// Training: every worker walks the program again and again; between two steps
// the first worker tells what came out and decides what comes next.
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/devices.h"
#include "runtime/worker.h"

// What a step's line and its metrics hold, by the names of outputs.
static const struct {
    const char *name;
    bool in_line;
} scalars[] = {
    {"loss", true},
    {"grad_norm", true},
    {"grad_norm_clipped", false},
    {"lr", true},
};

enum {
    NSCALAR = sizeof scalars / sizeof scalars[0],
    LOSS = 0,
    GRAD_NORM = 1,
    MAX_LINE = 512,
};

typedef struct Scalars {
    bool is_there[NSCALAR];
    double value[NSCALAR];
    double tokens_per_s;
} Scalars;

// From the first device: scalars are the same on all.
static Scalars read_scalars(const Run *r, double seconds)
{
    Scalars s = {0};
    s.tokens_per_s = (double)rt_batch_tokens(r->program) / seconds;
    for (int i = 0; i < r->program->ntensor; i++) {
        const RtTensor *t = &rt_tensors(r->program)[i];
        for (int k = 0; k < NSCALAR && t->class_ == RT_OUTPUT; k++) {
            if (t->rank != 0 || strcmp(t->name, scalars[k].name) != 0)
                continue;
            s.is_there[k] = true;
            s.value[k] =
                rt_scalar_value(t, rt_address(&r->memory, &t->place, 0, 0));
        }
    }
    return s;
}

// A NaN has no sign that anyone would want to see.
static double unsigned_nan(double x)
{
    return isnan(x) ? fabs(x) : x;
}

// One line a step; on a terminal each over the one before.
static void tell(const Run *r, int64_t step, const Scalars *s)
{
    bool rewrites = isatty(fileno(r->message));
    fprintf(r->message, "%sstep %" PRId64, rewrites ? "\r" : "", step);
    for (int k = 0; k < NSCALAR; k++)
        if (s->is_there[k] && scalars[k].in_line)
            fprintf(r->message, "  %s %.6g", scalars[k].name,
                    unsigned_nan(s->value[k]));
    fprintf(r->message, "  %.4g tokens/s%s", s->tokens_per_s,
            rewrites ? "\033[K" : "\n");
    fflush(r->message);
}

// JSON knows no NaN.
static void put_number(FILE *f, const char *name, double x)
{
    if (isfinite(x))
        fprintf(f, ", \"%s\": %.9g", name, x);
    else
        fprintf(f, ", \"%s\": null", name);
}

static void write_metrics(Run *r, int64_t step, const Scalars *s)
{
    if (!r->metrics)
        return;
    fprintf(r->metrics, "{\"step\": %" PRId64, step);
    for (int k = 0; k < NSCALAR; k++)
        if (s->is_there[k])
            put_number(r->metrics, scalars[k].name, s->value[k]);
    put_number(r->metrics, "tokens_per_s", s->tokens_per_s);
    fputs("}\n", r->metrics);
    if (fflush(r->metrics) == 0 && !ferror(r->metrics))
        return;
    char text[MAX_SAID];
    snprintf(text, sizeof text, "%s: cannot write: %s\n", r->options->metrics,
             strerror(errno));
    run_fail(r, RT_EXIT_INPUT, text);
}

// A loss or a norm that is no number: the parameters are lost.
static bool check_finite(Run *r, int64_t step, const Scalars *s)
{
    int bad = s->is_there[LOSS] && !isfinite(s->value[LOSS]) ? LOSS
              : s->is_there[GRAD_NORM] && !isfinite(s->value[GRAD_NORM])
                  ? GRAD_NORM
                  : -1;
    if (bad < 0)
        return true;
    char text[MAX_SAID];
    int n = snprintf(text, sizeof text, "step %" PRId64 ": %s is %g\n", step,
                     scalars[bad].name, unsigned_nan(s->value[bad]));
    const NanFound *first = nan_first(r->control->nan, r->nworker);
    if (first)
        snprintf(text + n, sizeof text - (size_t)n,
                 "the first NaN is made on device %" PRId64 " by %s\n",
                 first->device, nan_maker(r->program, first));
    else if (r->options->debug_nan)
        snprintf(text + n, sizeof text - (size_t)n,
                 "no result of a kernel has a NaN\n");
    run_fail(r, RT_EXIT_INPUT, text);
    return false;
}

// What was printed on a stream in memory ends the run.
typedef struct Said {
    char text[MAX_SAID];
    FILE *f;
} Said;

static FILE *say(Said *s)
{
    memset(s->text, 0, sizeof s->text);
    s->f = fmemopen(s->text, sizeof s->text - 1, "w");
    return s->f;
}

static void fail_saying(Run *r, Said *s)
{
    if (s->f)
        fclose(s->f);
    run_fail(r, RT_EXIT_INPUT, s->text);
}

// The first worker, while the others wait. `left`: steps to come.
static void after_step(Worker *w, const RtProgress *at, int64_t left,
                       double seconds)
{
    Run *r = w->r;
    Control *c = r->control;
    Scalars s = read_scalars(r, seconds);
    tell(r, at->step, &s);
    write_metrics(r, at->step, &s);
    if (!check_finite(r, at->step, &s))
        return;
    int every = r->options->save_every;
    c->stop = left == 0 || atomic_load(&c->interrupts) > 0 ||
              rt_data_bad(&r->inputs.batches, at->position) >= 0;
    c->save =
        r->options->save && (c->stop || (every > 0 && at->step % every == 0));
    Said said;
    if (c->save && !rt_saver_begin(&r->saver, at->step, say(&said)))
        fail_saying(r, &said);
    else if (c->save)
        fclose(said.f);
}

// Each worker writes the files of its devices, the first one then the index.
static bool save(Worker *w, const RtProgress *at)
{
    Run *r = w->r;
    Said said;
    bool ok = say(&said) != NULL;
    for (int64_t d = w->first; d < w->end && ok; d++) {
        int shard = r->saver.shard_of[d];
        ShardSum *sum = shard < 0 ? NULL : &r->control->sum[shard];
        ok = rt_saver_write(&r->saver, &r->memory, d, at->step, said.f, sum);
    }
    if (!ok)
        fail_saying(r, &said);
    else
        fclose(said.f);
    if (!worker_sync_long(w))
        return false;
    if (w->leads &&
        !rt_saver_commit(&r->saver, at, r->control->sum, say(&said)))
        fail_saying(r, &said);
    else if (w->leads)
        fclose(said.f);
    return worker_sync_long(w);
}

// Ids that are out of range end the run, after what was learned so far is
// saved.
static void fail_of_data(Run *r, const RtProgress *at)
{
    Said said;
    int64_t bad = rt_data_bad(&r->inputs.batches, at->position);
    if (bad < 0 || !say(&said))
        return;
    rt_data_tell(&r->inputs.batches, bad, said.f);
    fail_saying(r, &said);
}

static bool next_batch(Worker *w, const RtProgress *at)
{
    Run *r = w->r;
    if (!r->inputs.has_batches)
        return true;
    for (int64_t d = w->first; d < w->end; d++)
        rt_inputs_batch(&r->inputs, r->program, &r->memory, d, at->position);
    return worker_sync(w);
}

// What is told when all steps are done, or no more are wanted.
static void finish(Run *r, const RtProgress *at, int64_t left)
{
    bool is_asked = atomic_load(&r->control->interrupts) > 0;
    if (left > 0 && !is_asked)
        fail_of_data(r, at);
    if (is_asked)
        fprintf(r->message, "%sstopped after step %" PRId64 "\n",
                isatty(fileno(r->message)) ? "\n" : "", at->step);
}

bool worker_train(Worker *w)
{
    Run *r = w->r;
    Control *c = r->control;
    RtProgress at = r->inputs.start;
    int64_t left = r->options->steps;
    while (!c->stop) {
        double start = rt_now();
        if (!worker_walk(w) || !worker_sync(w))
            return false;
        left--;
        at.step++;
        at.position += r->inputs.batches.batch;
        if (w->leads)
            after_step(w, &at, left, rt_now() - start);
        if (!worker_sync(w) || (c->save && !save(w, &at)))
            return false;
        if (!c->stop && !next_batch(w, &at))
            return false;
    }
    if (w->leads)
        finish(r, &at, left);
    return true;
}
