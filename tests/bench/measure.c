#define _GNU_SOURCE
#include "measure.h"

#include <llvm-c/LLJIT.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "emit/gen.h"
#include "runtime/devices.h"

enum {
    MAX_CHAINS = 24,
};

double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// Independent chains of a = a * x + y, all in registers.
static void write_peak(Gen *g, int chains)
{
    Loop l;
    LLVMValueRef f, a[MAX_CHAINS], x;
    gen_function(g, "peak", "ip", &f);
    LLVMSetLinkage(f, LLVMExternalLinkage);
    LLVMValueRef to = LLVMGetParam(f, 1);
    LLVMTypeRef vector = gen_vector(g->f32, g->lanes);
    x = gen_splat(g, gen_load(g, g->f32, to, 4), g->lanes);
    for (int i = 0; i < chains; i++)
        a[i] = gen_load(g, vector, to, 4);
    loop_begin(g, &l, gen_i64(g, 0), LLVMGetParam(f, 0), gen_i64(g, 1), chains,
               a);
    for (int i = 0; i < chains; i++)
        a[i] = gen_fma(g, l.carry[i], x, x);
    loop_end(g, &l, a);
    for (int i = 1; i < chains; i++)
        l.carry[0] = LLVMBuildFAdd(g->b, l.carry[0], l.carry[i], "");
    gen_store(g, l.carry[0], to, 4);
    gen_return(g);
}

bool peak_load(Peak *p)
{
    Gen g;
    Arena arena = {0};
    char *error = NULL;
    LLVMOrcLLJITRef jit;
    LLVMOrcExecutorAddress at;
    LLVMMemoryBufferRef object;
    if (!gen_open(&g, &arena, "peak", &error))
        return false;
    int chains = g.lanes == 16 ? 24 : 12;
    write_peak(&g, chains);
    p->flops = 2.0 * chains * g.lanes;
    bool ok = !LLVMTargetMachineEmitToMemoryBuffer(
                  g.machine, g.module, LLVMObjectFile, &error, &object) &&
              !LLVMOrcCreateLLJIT(&jit, NULL) &&
              !LLVMOrcLLJITAddObjectFile(jit, LLVMOrcLLJITGetMainJITDylib(jit),
                                         object) &&
              !LLVMOrcLLJITLookup(jit, &at, "peak");
    if (ok) {
        p->engine = jit;
        p->run = (void (*)(int64_t, float *))(uintptr_t)at;
    }
    gen_close(&g);
    return ok;
}

double peak_measure(const Peak *p)
{
    _Alignas(64) float x[16];
    const int64_t n = 300000;
    for (int i = 0; i < 16; i++)
        x[i] = 0.5f;
    double t = seconds();
    p->run(n, x);
    return p->flops * (double)n / (seconds() - t);
}

static void stop(const char *message)
{
    fprintf(stderr, "%s\n", message);
    exit(70);
}

static char *segment(int64_t bytes)
{
    size_t n = ((size_t)bytes + (2u << 20)) & ~(size_t)((1u << 20) - 1);
    char *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                   -1, 0);
    if (p == MAP_FAILED)
        stop("no memory");
    madvise(p, n, MADV_HUGEPAGE);
    return p;
}

Bench bench_load(Arena *a, const char *text)
{
    Bench b;
    char *error = "";
    Diag d = {.out = stderr};
    Source source = {"bench", text};
    Module *m = module_parse(a, &source, &d);
    if (!m || !module_verify(m, &d))
        stop("the module is wrong");
    Code *code = emit_code(a, plan_module(a, m, NULL), &error);
    if (!code || !jit_load(code, &b.jit, &error))
        stop(error);
    emit_free(code);
    const RtProgram *p = (const RtProgram *)b.jit.blob;
    b.own = segment(p->priv_bytes);
    b.shared = segment(p->shared_bytes);
    for (int i = 0; i < p->ntensor; i++) {
        const RtTensor *t = &rt_tensors(p)[i];
        int64_t n = 1;
        for (int k = 0; k < t->rank; k++)
            n *= t->local[k];
        float *to = (float *)(b.own + t->place.at);
        for (int64_t k = 0; k < n && t->dtype == RT_f32; k++)
            to[k] = (float)(k * 7919 % 1013) / 1013 - 0.5f;
    }
    return b;
}

double bench_time(const Bench *b)
{
    const RtProgram *p = (const RtProgram *)b->jit.blob;
    double t = seconds();
    for (int i = 0; i < p->nstep; i++)
        b->jit.kernels[rt_steps(p)[i].index](b->own, b->shared, 0, 0);
    return seconds() - t;
}
