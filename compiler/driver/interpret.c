#include "driver/interpret.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ir/interp.h"
#include "pass/partition.h"
#include "runtime/safetensors.h"

typedef struct Files {
    SafeFile load, feed;
} Files;

static double read_value(const char *at, DType t)
{
    float f;
    int32_t i;
    uint16_t h;
    uint32_t bits;
    switch (t) {
    case DT_f32: memcpy(&f, at, sizeof f); return f;
    case DT_i32: memcpy(&i, at, sizeof i); return i;
    case DT_bf16:
        memcpy(&h, at, sizeof h);
        bits = (uint32_t)h << 16;
        memcpy(&f, &bits, sizeof f);
        return f;
    default: return *at != 0;
    }
}

static void write_value(char *at, DType t, double x)
{
    float f = (float)(t == DT_bf16 ? round_bf16(x) : x);
    int32_t i = (int32_t)x;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    uint16_t h = (uint16_t)(bits >> 16);
    char b = x != 0;
    const void *from[] = {
        [DT_f32] = &f, [DT_bf16] = &h, [DT_i32] = &i, [DT_bool] = &b};
    memcpy(at, from[t], (size_t)dtype_bytes[t]);
}

static bool is_as_wanted(const SafeTensor *t, const Type *type)
{
    return safetensors_is(t, (RtDType)type->dtype) && t->rank == type->rank &&
           memcmp(t->dim, type->dim, sizeof *t->dim * (size_t)t->rank) == 0;
}

// Ids must be below the size of the table that they index.
static bool check_ids(const Func *entry, const SafeFile *f, const Op *p,
                      const double *x)
{
    int64_t limit = p->type.dtype == DT_i32 ? param_limit(entry, p) : 0;
    for (int64_t i = 0; limit && i < type_count(&p->type); i++) {
        if (x[i] >= 0 && x[i] < (double)limit)
            continue;
        fprintf(stderr,
                "%s: tensor %s: entry number %ld is %.0f; must be at least 0 "
                "and less than %ld\n",
                f->path, p->name, (long)i, x[i], (long)limit);
        return false;
    }
    return true;
}

static double *make_state(Driver *d, const Op *p)
{
    double *x = arena_new(&d->arena, double, (size_t)type_count(&p->type) + 1);
    if (first_values(p, x))
        return x;
    fprintf(stderr,
            "state %s: its first values are random; not with "
            "--interpret\n",
            p->name);
    return NULL;
}

// The whole tensor of an entry's param, from its file; NULL after saying what
// is wrong with it, in the words of runtime/inputs.c.
static double *read_param(Driver *d, const Files *files, const Func *entry,
                          const Op *p)
{
    const char *class = op_str(p, A_class);
    if (is_state(p))
        return make_state(d, p);
    bool is_weight = class && strcmp(class, "param") == 0;
    const SafeFile *f = is_weight ? &files->load : &files->feed;
    if (!f->path) {
        fprintf(stderr, "no %s file, but the program wants %s\n",
                is_weight ? "--load" : "--feed", p->name);
        return NULL;
    }
    const SafeTensor *t = safetensors_find(f, p->name);
    if (!t || !is_as_wanted(t, &p->type)) {
        fprintf(stderr, "%s: tensor %s: wanted %s, found ", f->path, p->name,
                type_string(&d->arena, &(Mesh){0}, &p->type, NULL));
        if (t)
            safetensors_print_type(t, stderr);
        fputs(t ? "\n" : "none\n", stderr);
        return NULL;
    }
    double *x = arena_new(&d->arena, double, (size_t)type_count(&p->type) + 1);
    for (int64_t i = 0; i < type_count(&p->type); i++)
        x[i] = read_value(f->data + t->begin + i * dtype_bytes[p->type.dtype],
                          p->type.dtype);
    return check_ids(entry, f, p, x) ? x : NULL;
}

// The place in the whole tensor of entry i of a device's part; -1: padding.
static int64_t whole_index(const Mesh *m, const Op *v, int64_t device,
                           int64_t i)
{
    Type local = type_local(m, &v->type, &v->sharding);
    int64_t at = 0, step = 1;
    for (int k = v->type.rank - 1; k >= 0; k--) {
        int64_t x = split_index(m, &v->sharding.dim[k], v->type.dim[k], device,
                                i % local.dim[k]);
        if (x >= v->type.dim[k])
            return -1;
        i /= local.dim[k];
        at += x * step;
        step *= v->type.dim[k];
    }
    return at;
}

static double *part_of(Driver *d, const Mesh *m, const Op *v, int64_t device,
                       const double *whole)
{
    Type local = type_local(m, &v->type, &v->sharding);
    double *x = arena_new(&d->arena, double, (size_t)type_count(&local) + 1);
    for (int64_t i = 0; i < type_count(&local); i++) {
        int64_t at = whole_index(m, v, device, i);
        x[i] = at < 0 ? 0 : whole[at];
    }
    return x;
}

static double *join_parts(Driver *d, const Mesh *m, const Op *v,
                          double *const part[])
{
    double *x = arena_new(&d->arena, double, (size_t)type_count(&v->type) + 1);
    Type local = type_local(m, &v->type, &v->sharding);
    for (int64_t k = m->ndevice - 1; k >= 0; k--) {
        for (int64_t i = 0; i < type_count(&local); i++) {
            int64_t at = whole_index(m, v, k, i);
            if (at >= 0)
                x[at] = part[k][i];
        }
    }
    return x;
}

static bool dump(Driver *d, const Func *f, double *const result[])
{
    OutFile out;
    int n = 0;
    SafeTensor *t = arena_new(&d->arena, SafeTensor, (size_t)f->results.n);
    for (int i = 0; i < f->results.n; i++) {
        const Type *type = &f->results.at[i]->type;
        if (!is_dumped(f, i))
            continue;
        t[n] = (SafeTensor){.name = f->result_names.at[i],
                            .dtype = safetensors_dtype((RtDType)type->dtype),
                            .rank = type->rank,
                            .begin = n ? t[n - 1].end : 0};
        memcpy(t[n].dim, type->dim, sizeof *type->dim * (size_t)type->rank);
        t[n].end = t[n].begin + type_bytes(type);
        n++;
    }
    outfile_begin(&out, d->o.dump, stderr);
    safetensors_begin(&out, t, n);
    for (int i = 0; i < f->results.n; i++) {
        const Type *type = &f->results.at[i]->type;
        if (!is_dumped(f, i))
            continue;
        char *bytes = arena_new(&d->arena, char, (size_t)type_bytes(type) + 1);
        for (int64_t k = 0; k < type_count(type); k++)
            write_value(bytes + k * dtype_bytes[type->dtype], type->dtype,
                        result[i][k]);
        outfile_write(&out, bytes, (size_t)type_bytes(type));
    }
    return outfile_end(&out);
}

static void print_scalars(const Func *f, double *const result[])
{
    for (int i = 0; i < f->results.n; i++)
        if (is_printed(f, i))
            printf("%s %.7g\n", f->result_names.at[i], result[i][0]);
}

// The parts of all params: in[p * devices + device].
static bool read_inputs(Driver *d, const Files *files, const Module *m,
                        const Func *sharded, const double *in[])
{
    int64_t n = m->form == FORM_local ? m->mesh.ndevice : 1;
    bool ok = true;
    for (int p = 0; p < sharded->nparam; p++) {
        const double *whole = read_param(d, files, sharded, sharded->ops.at[p]);
        ok &= whole != NULL;
        for (int64_t k = 0; whole && k < n; k++)
            in[p * n + k] =
                n == 1 ? whole
                       : part_of(d, &m->mesh, sharded->ops.at[p], k, whole);
    }
    return ok;
}

// A step after the other, or the forward pass. The results of the last one;
// NULL after saying why there are none.
static double **run_steps(Driver *d, const Module *m, const Func *sharded,
                          const double *in[])
{
    int64_t n = m->form == FORM_local ? m->mesh.ndevice : 1;
    FILE *metrics = d->o.metrics ? fopen(d->o.metrics, "we") : NULL;
    double **out = module_interp(&d->arena, m, in);
    for (int step = 1;; step++) {
        if (metrics)
            write_row(metrics, sharded, n, out, step);
        if (step >= d->o.steps)
            break;
        carry_on(sharded, n, out, in);
        out = module_interp(&d->arena, m, in);
    }
    bool failed = d->o.metrics && !metrics;
    if (metrics)
        failed = (ferror(metrics) | fclose(metrics)) != 0;
    if (failed)
        fprintf(stderr, "%s: cannot write: %s\n", d->o.metrics,
                strerror(errno));
    return failed ? NULL : out;
}

static int run_files(Driver *d, const Module *m, const Func *sharded,
                     const Files *files)
{
    int64_t n = m->form == FORM_local ? m->mesh.ndevice : 1;
    const double **in =
        arena_new(&d->arena, const double *, (size_t)(sharded->nparam * n + 1));
    if (!read_inputs(d, files, m, sharded, in))
        return EXIT_DIAGNOSTICS;
    double **out = run_steps(d, m, sharded, in);
    if (!out)
        return EXIT_DIAGNOSTICS;
    double **whole = arena_new(&d->arena, double *, (size_t)sharded->results.n);
    for (int i = 0; i < sharded->results.n; i++)
        whole[i] = n == 1 ? out[i]
                          : join_parts(d, &m->mesh, sharded->results.at[i],
                                       out + i * n);
    print_scalars(sharded, whole);
    bool ok = !d->o.dump || dump(d, sharded, whole);
    int code = close_output(d, stdout);
    return ok ? code : EXIT_DIAGNOSTICS;
}

int run_interpreter(Driver *d, const Built *b)
{
    const char *form = d->o.interpret;
    const Module *m = strcmp(form, "global") == 0    ? b->global
                      : strcmp(form, "sharded") == 0 ? b->sharded
                                                     : b->local;
    Files files = {0};
    bool ok = !d->o.load || safetensors_open(d->o.load, stderr, &files.load);
    ok &= !d->o.feed || safetensors_open(d->o.feed, stderr, &files.feed);
    ok &= !d->o.dump || outfile_probe(d->o.dump, stderr);
    ok &= !d->o.metrics || outfile_probe(d->o.metrics, stderr);
    int code = ok ? run_files(d, m, module_entry(b->sharded), &files)
                  : EXIT_DIAGNOSTICS;
    if (files.load.path)
        safetensors_close(&files.load);
    if (files.feed.path)
        safetensors_close(&files.feed);
    return code;
}
