#define _GNU_SOURCE
#include "measure.h"

#include <llvm-c/LLJIT.h>
#include <stdlib.h>
#include <string.h>
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
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
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
    b.module = module_parse(a, &source, &d);
    if (!b.module || !module_verify(b.module, &d))
        stop("the module is wrong");
    b.plan = plan_module(a, b.module, NULL);
    Code *code = emit_code(a, b.plan, "shardc", &error);
    if (!code || !jit_load(code, &b.jit, &error))
        stop(error);
    emit_free(code);
    const RtProgram *p = (const RtProgram *)b.jit.blob;
    b.spent = arena_new(a, double, (size_t)p->nstep + 1);
    b.own = segment(p->priv_bytes);
    b.shared = segment(p->shared_bytes);
    for (int i = 0; i < p->nconstant; i++) {
        const RtConstant *c = &rt_constants(p)[i];
        memcpy(b.own + c->place.at, b.jit.blob + c->data, (size_t)c->bytes);
    }
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

static void run_steps(const Bench *b, int from, int n, int64_t turn)
{
    const RtProgram *p = (const RtProgram *)b->jit.blob;
    for (int i = from; i < from + n; i++) {
        const RtStep *s = &rt_steps(p)[i];
        if (s->kind == RT_KERNEL) {
            double t = seconds();
            b->jit.kernels[s->index](b->own, b->shared, 0, turn);
            b->spent[i] += seconds() - t;
            continue;
        }
        for (int64_t k = 0; k < s->trip; k++)
            run_steps(b, i + 1, s->index, k);
        i += s->index;
    }
}

double bench_time(const Bench *b)
{
    double t = seconds();
    run_steps(b, 0, ((const RtProgram *)b->jit.blob)->nstep, 0);
    return seconds() - t;
}

static double product_flops(const Op *op)
{
    double flops = 2;
    bool seen[128] = {false};
    const char *letter = op_str(op, A_spec);
    for (int i = 0; i < 2; i++, letter++)
        for (int k = 0; k < op->operand[i]->type.rank; k++, letter++) {
            if (!seen[(int)*letter])
                flops *= (double)op->operand[i]->type.dim[k];
            seen[(int)*letter] = true;
        }
    return flops;
}

static double attention_flops(const Op *op)
{
    const int64_t *q = op->operand[0]->type.dim;
    const int64_t *v = op->operand[2]->type.dim;
    double keys =
        op_int(op, A_causal, 0) ? (double)(v[1] + 1) / 2 : (double)v[1];
    return 2.0 * (double)(q[0] * q[1] * q[2] * (q[3] + v[3])) * keys;
}

static double func_flops(const Module *m, const Func *f)
{
    double flops = 0;
    for_each_op (op, f) {
        if (op_attr(op, A_spec))
            flops += product_flops(op);
        if (op_attr(op, A_causal))
            flops += attention_flops(op);
        if (op_attr(op, A_body))
            flops += (double)op_int(op, A_trip, 0) *
                     func_flops(m, module_find(m, op_str(op, A_body)));
    }
    return flops;
}

double bench_flops(const Bench *b)
{
    return func_flops(b->module, module_entry(b->module));
}
