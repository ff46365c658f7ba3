#include <stdlib.h>
#include <string.h>

#include "runtime/devices.h"
#include "runtime/part.h"
#include "runtime/tensors.h"

enum {
    ALIGN = 64,
};

// Whether the output is the next value of a parameter or state.
static bool is_update(const RtProgram *p, const RtTensor *t, RtClass of)
{
    return t->donor >= 0 && rt_tensors(p)[t->donor].class_ == (int)of;
}

static bool is_told(const RtProgram *p, const RtTensor *t, bool trains)
{
    return t->class_ == RT_OUTPUT && !(trains && is_update(p, t, RT_STATE));
}

bool rt_outputs_map(const RtProgram *p, bool trains, RtOutputs *out)
{
    *out = (RtOutputs){
        .trains = trains,
        .offset = calloc((size_t)p->ntensor + 1, sizeof out->offset[0])};
    if (!out->offset)
        return false;
    int64_t bytes = 0;
    for (int i = 0; i < p->ntensor; i++) {
        const RtTensor *t = &rt_tensors(p)[i];
        out->offset[i] = is_told(p, t, trains) ? bytes : -1;
        if (out->offset[i] >= 0)
            bytes += (rt_tensor_bytes(t) + ALIGN - 1) / ALIGN * ALIGN;
    }
    return rt_map(&out->mapping, bytes, true);
}

void rt_outputs_unmap(RtOutputs *out)
{
    rt_unmap(&out->mapping);
    free(out->offset);
    *out = (RtOutputs){0};
}

void rt_outputs_gather(const RtOutputs *out, const RtProgram *p,
                       const RtMemory *m, int64_t device, bool scalars)
{
    for (int i = 0; i < p->ntensor; i++) {
        const RtTensor *t = &rt_tensors(p)[i];
        if (out->offset[i] >= 0 && (t->rank == 0 || !scalars))
            rt_gather(p, t, device, rt_address(m, &t->place, device, 0),
                      out->mapping.base + out->offset[i]);
    }
}

double rt_scalar_value(const RtTensor *t, const char *data)
{
    uint32_t bits = 0;
    memcpy(&bits, data, (size_t)rt_dtype_bytes(t->dtype));
    if (t->dtype == RT_bool)
        return bits;
    if (t->dtype == RT_i32)
        return (int32_t)bits;
    if (t->dtype == RT_bf16)
        bits <<= 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

void rt_outputs_print(const RtOutputs *out, const RtProgram *p, FILE *f)
{
    for (int i = 0; i < p->ntensor; i++) {
        const RtTensor *t = &rt_tensors(p)[i];
        bool is_result = !out->trains || !(is_update(p, t, RT_PARAM) ||
                                           strncmp(t->name, "grad.", 5) == 0);
        if (out->offset[i] >= 0 && t->rank == 0 && is_result)
            fprintf(f, "%s %.7g\n", t->name,
                    rt_scalar_value(t, out->mapping.base + out->offset[i]));
    }
}

static SafeTensor describe(const RtTensor *t, int64_t begin)
{
    SafeTensor s = {.name = t->name,
                    .dtype = safetensors_dtype(t->dtype),
                    .rank = t->rank,
                    .begin = begin,
                    .end = begin + rt_tensor_bytes(t)};
    memcpy(s.dim, t->dim, sizeof s.dim);
    return s;
}

bool rt_outputs_dump(const RtOutputs *out, const RtProgram *p, const char *path,
                     FILE *message)
{
    SafeTensor *type = calloc((size_t)p->ntensor + 1, sizeof type[0]);
    if (!type) {
        fputs("out of memory\n", message);
        return false;
    }
    int n = 0;
    for (int i = 0; i < p->ntensor; i++) {
        if (out->offset[i] >= 0) {
            type[n] = describe(&rt_tensors(p)[i], n ? type[n - 1].end : 0);
            n++;
        }
    }
    OutFile f;
    outfile_begin(&f, path, message);
    safetensors_begin(&f, type, n);
    for (int i = 0; i < p->ntensor; i++)
        if (out->offset[i] >= 0)
            outfile_write(&f, out->mapping.base + out->offset[i],
                          (size_t)rt_tensor_bytes(&rt_tensors(p)[i]));
    free(type);
    return outfile_end(&f);
}
