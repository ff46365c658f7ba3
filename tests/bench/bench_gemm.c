// What share of the FMA peak matrix products and attention reach on one core,
// the peak measured beside each. The last line is f32 1024^3.
#include <stdlib.h>
#include <string.h>

#include "measure.h"

typedef struct Case {
    const char *name;
    double flops;
    int times;
    const char *body;
} Case;

static const Case cases[] = {
    {"128 x 512 x 1536", 2.0 * 128 * 512 * 1536, 40,
     "func @main(%x: f32[128, 1536] {class=\"input\"}, "
     "%w: f32[1536, 512] {class=\"param\"}) {\n"
     "%y = einsum %x, %w {spec=\"sk,kn->sn\"} : f32[128, 512]\n"
     "return y=%y\n}\n"},
    {"512^3", 2.0 * 512 * 512 * 512, 40,
     "func @main(%x: f32[512, 512] {class=\"input\"}, "
     "%w: f32[512, 512] {class=\"param\"}) {\n"
     "%y = einsum %x, %w {spec=\"sk,kn->sn\"} : f32[512, 512]\n"
     "return y=%y\n}\n"},
    {"1024^3, both transposed", 2.0 * 1024 * 1024 * 1024, 20,
     "func @main(%x: f32[1024, 1024] {class=\"input\"}, "
     "%w: f32[1024, 1024] {class=\"param\"}) {\n"
     "%y = einsum %x, %w {spec=\"ks,nk->sn\"} : f32[1024, 1024]\n"
     "return y=%y\n}\n"},
    {"1024^3, bf16", 2.0 * 1024 * 1024 * 1024, 20,
     "func @main(%x: bf16[1024, 1024] {class=\"input\"}, "
     "%w: bf16[1024, 1024] {class=\"param\"}) {\n"
     "%y = einsum %x, %w {spec=\"sk,kn->sn\"} : bf16[1024, 1024]\n"
     "return y=%y\n}\n"},
    {"gated, 1024 x 512 x 1024", 4.0 * 1024 * 512 * 1024, 20,
     "func @main(%x: f32[1024, 1024] {class=\"input\"}, "
     "%w: f32[1024, 512] {class=\"param\"}, "
     "%v: f32[1024, 512] {class=\"param\"}) {\n"
     "%a = einsum %x, %w {spec=\"sk,kn->sn\"} : f32[1024, 512]\n"
     "%l = logistic %a : f32[1024, 512]\n"
     "%g = multiply %a, %l : f32[1024, 512]\n"
     "%b = einsum %x, %v {spec=\"sk,kn->sn\"} : f32[1024, 512]\n"
     "%y = multiply %g, %b : f32[1024, 512]\n"
     "return y=%y\n}\n"},
    {"attention, 1024 queries, 192 and 128", 2.0 * 1024 * 1024 * 320 * 2, 10,
     "func @main(%q: f32[1, 1024, 2, 192] {class=\"input\"}, "
     "%k: f32[1, 1024, 2, 192] {class=\"input\"}, "
     "%v: f32[1, 1024, 2, 128] {class=\"input\"}, "
     "%s: i32[1, 1024] {class=\"input\"}) {\n"
     "%y = attention %q, %k, %v, %s, %s {causal=0} : f32[1, 1024, 2, 128]\n"
     "return y=%y\n}\n"},
    {"1024^3", 2.0 * 1024 * 1024 * 1024, 30,
     "func @main(%x: f32[1024, 1024] {class=\"input\"}, "
     "%w: f32[1024, 1024] {class=\"param\"}) {\n"
     "%y = einsum %x, %w {spec=\"sk,kn->sn\"} : f32[1024, 1024]\n"
     "return y=%y\n}\n"},
};

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void measure(const Peak *peak, const Case *c)
{
    Arena a = {0};
    char *text = arena_printf(&a, "mesh\nform local\n%s", c->body);
    Bench b = bench_load(&a, text);
    double *share = arena_new(&a, double, (size_t)c->times);
    double best = 0, best_peak = 0;
    bench_time(&b);
    for (int i = 0; i < c->times; i++) {
        double p = peak_measure(peak);
        double rate = c->flops / bench_time(&b);
        share[i] = rate / p;
        best = rate > best ? rate : best;
        best_peak = p > best_peak ? p : best_peak;
    }
    qsort(share, (size_t)c->times, sizeof *share, by_value);
    printf("%-38s best %6.1f of %6.1f GFLOP/s, median share %.3f, best %.3f\n",
           c->name, best * 1e-9, best_peak * 1e-9, share[c->times / 2],
           best / best_peak);
    fflush(stdout);
    jit_free(&b.jit);
    arena_free(&a);
}

int main(int argc, char *argv[])
{
    Peak peak;
    if (!peak_load(&peak))
        return 70;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (argc < 2 || strstr(cases[i].name, argv[1]))
            measure(&peak, &cases[i]);
    return 0;
}
