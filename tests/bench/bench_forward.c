// What share of the FMA peak the forward pass of the `small` model reaches on
// one core: four dense layers, f32, one device. With an argument, also where
// the time goes. The last line ends with the share.
#include <libgen.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"

enum {
    TIMES = 12,
};

// What `shardc build --emit=local` prints; this program lies in tests/bench
// of the build directory.
static char *local_text(Arena *a, const char *self)
{
    char buffer[4096];
    char *text = "";
    char *folder = dirname(arena_strndup(a, self, strlen(self)));
    FILE *f = popen(arena_printf(a,
                                 "%s/../../shardc build examples/deepseek.shard"
                                 " --config small --entry forward --mesh fsdp=1"
                                 " --emit=local",
                                 folder),
                    "r");
    for (size_t n; f && (n = fread(buffer, 1, sizeof buffer, f)) > 0;)
        text = arena_printf(a, "%s%.*s", text, (int)n, buffer);
    if (!f || pclose(f) != 0)
        exit(70);
    return text;
}

static void print_steps(const Bench *b)
{
    for (int i = 0; i < b->plan->steps.n; i++) {
        const Step *s = &b->plan->steps.at[i];
        if (s->kind != RT_KERNEL)
            continue;
        const Kernel *k = b->plan->kernels.at[s->index];
        printf("%8.3f ms  %s\n", 1e3 * b->spent[i] / (TIMES + 1),
               k->access.at[0].buffer->name);
    }
}

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

int main(int argc, char *argv[])
{
    Peak peak;
    Arena a = {0};
    double share[TIMES], best = 0, best_peak = 0;
    if (!peak_load(&peak))
        return 70;
    Bench b = bench_load(&a, local_text(&a, argv[0]));
    double flops = bench_flops(&b);
    bench_time(&b);
    for (int i = 0; i < TIMES; i++) {
        double p = peak_measure(&peak), rate = flops / bench_time(&b);
        share[i] = rate / p;
        best = rate > best ? rate : best;
        best_peak = p > best_peak ? p : best_peak;
    }
    qsort(share, TIMES, sizeof *share, by_value);
    if (argc > 1)
        print_steps(&b);
    printf("forward of small, %.2f GFLOP: median share %.3f, best %.1f of %.1f "
           "GFLOP/s, best share %.3f\n",
           flops * 1e-9, share[TIMES / 2], best * 1e-9, best_peak * 1e-9,
           best / best_peak);
    jit_free(&b.jit);
    arena_free(&a);
    return 0;
}
