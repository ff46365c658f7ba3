#include "emit_run.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "emit/emit.h"
#include "ir/interp.h"
#include "runtime/collective.h"
#include "runtime/devices.h"

static void to_memory(char *to, int dtype, const double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        float f = (float)x[i];
        uint32_t bits;
        memcpy(&bits, &f, sizeof bits);
        if (dtype == RT_f32)
            memcpy(to + 4 * i, &f, 4);
        else if (dtype == RT_bf16)
            memcpy(to + 2 * i, (char *)&f + 2, 2);
        else if (dtype == RT_i32)
            memcpy(to + 4 * i, &(int32_t){(int32_t)x[i]}, 4);
        else
            to[i] = x[i] != 0;
    }
}

static double from_memory(const char *from, int dtype, int64_t i)
{
    float f = 0;
    int32_t k;
    if (dtype == RT_f32)
        memcpy(&f, from + 4 * i, 4);
    if (dtype == RT_bf16)
        memcpy((char *)&f + 2, from + 2 * i, 2);
    if (dtype == RT_i32) {
        memcpy(&k, from + 4 * i, 4);
        return k;
    }
    return dtype == RT_bool ? from[i] : f;
}

static int64_t local_count(const RtTensor *t)
{
    int64_t n = 1;
    for (int i = 0; i < t->rank; i++)
        n *= t->local[i];
    return n;
}

typedef struct Machine {
    const RtProgram *p;
    RtKernel *const *kernels;
    RtMemory memory;
    Share share;
} Machine;

static void run_steps(Machine *m, int from, int n, int64_t turn)
{
    for (int i = from; i < from + n; i++) {
        const RtStep *s = &rt_steps(m->p)[i];
        if (s->kind == RT_KERNEL) {
            for (int64_t d = 0; d < m->p->ndevice; d++)
                m->kernels[s->index](rt_priv(&m->memory, d),
                                     rt_shared(&m->memory, d), d, turn);
        } else if (s->kind == RT_COLLECTIVE) {
            Exchange x = exchange_of(m->p, &rt_collectives(m->p)[s->index]);
            Execution e = {m->p, &x, &m->memory, m->share, turn};
            exchange_run(&e);
        } else {
            for (int64_t k = 0; k < s->trip; k++)
                run_steps(m, i + 1, s->index, k);
            i += s->index;
        }
    }
}

static void put_inputs(Machine *m, const double *const in[])
{
    int p = 0;
    for (int t = 0; t < m->p->ntensor; t++) {
        const RtTensor *x = &rt_tensors(m->p)[t];
        if (x->class_ == RT_OUTPUT)
            continue;
        for (int64_t d = 0; d < m->p->ndevice; d++)
            to_memory(rt_address(&m->memory, &x->place, d, 0), x->dtype,
                      in[p * m->p->ndevice + d], local_count(x));
        p++;
    }
}

static double **take_outputs(Arena *a, Machine *m)
{
    int r = 0;
    int64_t n = m->p->ndevice;
    double **out = arena_new(a, double *, (size_t)(m->p->ntensor * n));
    for (int t = 0; t < m->p->ntensor; t++) {
        const RtTensor *x = &rt_tensors(m->p)[t];
        if (x->class_ != RT_OUTPUT)
            continue;
        for (int64_t d = 0; d < n; d++) {
            double *y = arena_new(a, double, (size_t)local_count(x) + 1);
            for (int64_t i = 0; i < local_count(x); i++)
                y[i] = from_memory(rt_address(&m->memory, &x->place, d, 0),
                                   x->dtype, i);
            out[r * n + d] = y;
        }
        r++;
    }
    return out;
}

double **native_run(Arena *a, const Module *module, const double *const in[])
{
    Jit jit;
    char *error = "";
    Plan *plan = plan_module(a, module, NULL);
    if (getenv("SHOW_PLAN"))
        plan_print(plan, stderr);
    Code *code = emit_code(a, plan, "shardc", &error);
    if (code && getenv("SHOW_LLVM"))
        emit_llvm(code, stderr);
    if (!code || !jit_load(code, &jit, &error))
        fail_msg("%s", error);
    Machine m = {.p = (const RtProgram *)jit.blob, .kernels = jit.kernels};
    size_t n = (size_t)m.p->ndevice;
    assert_true(rt_memory_map_shared(&m.memory, m.p, false));
    assert_true(rt_memory_map_priv(&m.memory, m.p, 0, m.p->ndevice));
    for (int64_t d = 0; d < m.p->ndevice; d++) {
        rt_memory_touch(&m.memory, m.p, d);
        rt_memory_constants(&m.memory, m.p, d);
    }
    m.share = (Share){.nworker = 1,
                      .device = -1,
                      .member = arena_new(a, int64_t, n),
                      .source = arena_new(a, const char *, n),
                      .result = arena_new(a, char *, n)};
    put_inputs(&m, in);
    run_steps(&m, 0, m.p->nstep, 0);
    double **out = take_outputs(a, &m);
    rt_memory_unmap(&m.memory);
    jit_free(&jit);
    emit_free(code);
    return out;
}

static double make_number(DType t, unsigned *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    double x = (double)(*seed >> 8) / (1 << 23) - 1;
    if (t == DT_i32)
        return floor(x * 8) + 4;
    if (t == DT_bool)
        return x > 0;
    return t == DT_bf16 ? round_bf16(x) : (float)x;
}

double **make_inputs(Arena *a, const Module *m, unsigned seed)
{
    const Func *f = module_entry(m);
    int64_t n = m->mesh.ndevice;
    double **in = arena_new(a, double *, (size_t)(f->nparam * n) + 1);
    for (int p = 0; p < f->nparam; p++)
        for (int64_t d = 0; d < n; d++) {
            const Type *t = &f->ops.at[p]->type;
            in[p * n + d] = arena_new(a, double, (size_t)type_count(t) + 1);
            for (int64_t i = 0; i < type_count(t); i++)
                in[p * n + d][i] = make_number(t->dtype, &seed);
        }
    return in;
}

static void compare(const Func *f, int r, int64_t device, const double *want,
                    const double *got, double bound)
{
    double most = 0;
    const Type *t = &f->results.at[r]->type;
    for (int64_t i = 0; i < type_count(t); i++)
        if (isfinite(want[i]))
            most = fmax(most, fabs(want[i]));
    for (int64_t i = 0; i < type_count(t); i++) {
        bool same = want[i] == got[i] || (isnan(want[i]) && isnan(got[i])) ||
                    fabs(want[i] - got[i]) <= bound * most;
        if (!same) {
            module_print(f->module, stderr);
            fail_msg("result %d of device %ld, entry %ld: %.9g, not %.9g", r,
                     (long)device, (long)i, got[i], want[i]);
        }
    }
}

void check_native(const char *text, double bound)
{
    Arena a = {0};
    Diag d = {.out = stderr};
    Source source = {"test", text};
    Module *m = module_parse(&a, &source, &d);
    if (!m || !module_verify(m, &d))
        fail_msg("not a module: %s", text);
    const Func *f = module_entry(m);
    const double *const *in = (const double *const *)make_inputs(&a, m, 12345);
    double **want = module_interp(&a, m, in);
    double **got = native_run(&a, m, in);
    int64_t n = m->mesh.ndevice;
    for (int r = 0; r < f->results.n; r++)
        for (int64_t k = 0; k < n; k++)
            compare(f, r, k, want[r * n + k], got[r * n + k], bound);
    arena_free(&a);
}
