// Measuring emitted code against the machine's FMA peak.
#pragma once

#include "emit/emit.h"

typedef struct Peak {
    void *engine;
    void (*run)(int64_t n, float *to);
    double flops; // of one step
} Peak;

double seconds(void);
// Fused multiply-adds of the target's vectors in registers, n steps a run.
bool peak_load(Peak *p);
double peak_measure(const Peak *p); // flop/s

// A LOCAL module of one device, compiled; exits if that fails.
typedef struct Bench {
    Jit jit;
    char *own, *shared;
} Bench;

Bench bench_load(Arena *a, const char *text);
double bench_time(const Bench *b); // seconds of all its steps
