// Measuring emitted code against the machine's FMA peak.
#pragma once

#include "emit/emit.h"

typedef struct Peak {
    void *engine;
    void (*run)(int64_t n, float *to);
    double flops; // of one step
} Peak;

double seconds(void); // of this thread's own time: the machine may be shared
// Fused multiply-adds of the target's vectors in registers, n steps a run.
bool peak_load(Peak *p);
double peak_measure(const Peak *p); // flop/s

// A LOCAL module of one device, compiled; exits if that fails.
typedef struct Bench {
    const Module *module;
    const Plan *plan;
    Jit jit;
    char *own, *shared;
    double *spent; // by step, in seconds
} Bench;

Bench bench_load(Arena *a, const char *text);
double bench_time(const Bench *b); // seconds of all its steps
// Floating-point operations of the products and attentions of a run; half of
// the scores of causal attention.
double bench_flops(const Bench *b);
