#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/devices.h"
#include "runtime/init.h"
#include "runtime/part.h"
#include "runtime/tensors.h"

enum {
    MAX_LISTED = 3,
};

// The type the program wants, spelled as safetensors_print_type spells.
static void print_wanted(const RtTensor *t, FILE *f)
{
    fprintf(f, "%s[", rt_dtype_name[t->dtype]);
    for (int d = 0; d < t->rank; d++)
        fprintf(f, "%s%ld", d ? ", " : "", (long)t->dim[d]);
    fputc(']', f);
}

bool rt_same_type(const RtTensor *t, const SafeTensor *found)
{
    if (!safetensors_is(found, t->dtype) || found->rank != t->rank)
        return false;
    return memcmp(found->dim, t->dim, sizeof t->dim[0] * (size_t)t->rank) == 0;
}

// Entry i of a tensor whose values are checked. The data has no alignment.
static int64_t value_at(const RtTensor *t, const char *data, int64_t i)
{
    if (t->dtype == RT_bool)
        return (unsigned char)data[i];
    int32_t value;
    memcpy(&value, data + i * 4, sizeof value);
    return value;
}

static void print_position(const RtTensor *t, int64_t i, FILE *f)
{
    int64_t at[RT_MAX_RANK];
    for (int d = t->rank - 1; d >= 0; d--) {
        at[d] = i % t->dim[d];
        i /= t->dim[d];
    }
    fputc('[', f);
    for (int d = 0; d < t->rank; d++)
        fprintf(f, "%s%ld", d ? ", " : "", (long)at[d]);
    fputc(']', f);
}

// Indices must be in range, truth values 0 or 1. Tells the first that is not.
static bool check_values(const RtTensor *t, const char *data, const char *path,
                         FILE *message)
{
    bool checked = t->dtype == RT_bool || (t->dtype == RT_i32 && t->has_limit);
    int64_t limit = t->dtype == RT_bool ? 2 : t->limit;
    int64_t n = rt_tensor_bytes(t) / rt_dtype_bytes(t->dtype);
    int64_t first = -1, nbad = 0;
    for (int64_t i = 0; i < n && checked; i++) {
        int64_t value = value_at(t, data, i);
        if (value >= 0 && value < limit)
            continue;
        if (nbad++ == 0)
            first = i;
    }
    if (!nbad)
        return true;
    fprintf(message, "%s: tensor %s: entry ", path, t->name);
    print_position(t, first, message);
    fprintf(message, " is %ld; must be at least 0 and less than %ld",
            (long)value_at(t, data, first), (long)limit);
    if (nbad > 1)
        fprintf(message, " (and %ld more)", (long)(nbad - 1));
    fputc('\n', message);
    return false;
}

void rt_print_mismatch(const RtTensor *t, const SafeTensor *found,
                       const char *path, FILE *message)
{
    fprintf(message, "%s: tensor %s: wanted ", path, t->name);
    print_wanted(t, message);
    fputs(", found ", message);
    if (found)
        safetensors_print_type(found, message);
    else
        fputs("none", message);
    fputc('\n', message);
}

static bool check_tensor(const RtTensor *t, const SafeFile *file, FILE *message,
                         const char **data)
{
    const SafeTensor *found = safetensors_find(file, t->name);
    if (found && rt_same_type(t, found)) {
        *data = file->data + found->begin;
        return check_values(t, *data, file->path, message);
    }
    rt_print_mismatch(t, found, file->path, message);
    return false;
}

// No file was given: an error if the program has tensors of the class.
static bool check_none(const RtProgram *p, RtClass class_, const char *option,
                       const char *what, FILE *message)
{
    int n = 0;
    for (int i = 0; i < p->ntensor; i++)
        n += rt_tensors(p)[i].class_ == (int)class_;
    if (!n)
        return true;
    fprintf(message, "no %s file, but the program has %d %s%s: ", option, n,
            what, n == 1 ? "" : "s");
    int listed = 0;
    for (int i = 0; i < p->ntensor && listed < MAX_LISTED; i++)
        if (rt_tensors(p)[i].class_ == (int)class_)
            fprintf(message, "%s%s", listed++ ? ", " : "",
                    rt_tensors(p)[i].name);
    fputs(n > MAX_LISTED ? ", ...\n" : "\n", message);
    return false;
}

static bool check_class(const RtProgram *p, RtClass class_,
                        const SafeFile *file, FILE *message, const char **data)
{
    bool ok = true;
    for (int i = 0; i < p->ntensor; i++) {
        const RtTensor *t = &rt_tensors(p)[i];
        if (t->class_ == (int)class_ &&
            !check_tensor(t, file, message, &data[i]))
            ok = false;
    }
    return ok;
}

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool open_load(const RtProgram *p, const RtOptions *o, FILE *message,
                      RtInputs *in)
{
    if (o->load && is_folder(o->load)) {
        in->has_checkpoint = rt_checkpoint_open(p, o->load, o->steps > 0,
                                                message, &in->checkpoint);
        in->start = in->checkpoint.at;
        return in->has_checkpoint;
    }
    if (o->load)
        return safetensors_open(o->load, message, &in->load) &&
               check_class(p, RT_PARAM, &in->load, message, in->data);
    return o->steps || check_none(p, RT_PARAM, "--load", "parameter", message);
}

static bool open_feed(const RtProgram *p, const RtOptions *o, FILE *message,
                      RtInputs *in)
{
    if (o->feed)
        return safetensors_open(o->feed, message, &in->feed) &&
               check_class(p, RT_INPUT, &in->feed, message, in->data);
    if (!o->steps)
        return check_none(p, RT_INPUT, "--feed", "input", message);
    in->has_batches = rt_data_open(p, o->data, o->data_type, in->start.seed,
                                   message, &in->batches);
    int64_t bad = rt_data_bad(&in->batches, in->start.position);
    if (bad >= 0)
        rt_data_tell(&in->batches, bad, message);
    return in->has_batches && bad < 0;
}

bool rt_inputs_open(const RtProgram *p, const RtOptions *o, FILE *message,
                    RtInputs *in)
{
    *in = (RtInputs){.data = calloc((size_t)p->ntensor + 1, sizeof in->data[0]),
                     .makes_values = o->steps > 0};
    if (!in->data) {
        fputs("out of memory\n", message);
        return false;
    }
    bool load = open_load(p, o, message, in);
    if (o->seed)
        in->start.seed = strtoull(o->seed, NULL, 10);
    bool feed = open_feed(p, o, message, in);
    if (!load || !feed)
        rt_inputs_close(in);
    return load && feed;
}

void rt_inputs_close(RtInputs *in)
{
    safetensors_close(&in->load);
    safetensors_close(&in->feed);
    rt_checkpoint_close(&in->checkpoint);
    rt_data_close(&in->batches);
    free(in->data);
    *in = (RtInputs){0};
}

void rt_inputs_load(const RtInputs *in, const RtProgram *p, const RtMemory *m,
                    int64_t device)
{
    for (int i = 0; i < p->ntensor; i++) {
        const RtTensor *t = &rt_tensors(p)[i];
        bool kept = t->class_ == RT_PARAM || t->class_ == RT_STATE;
        char *local = rt_address(m, &t->place, device, 0);
        if (in->data[i])
            rt_scatter(p, t, device, in->data[i], local);
        else if (kept && in->has_checkpoint)
            rt_checkpoint_load(&in->checkpoint, p, i, device, local);
        else if (kept && in->makes_values)
            rt_init(p, t, in->start.seed, device, local);
    }
    rt_inputs_batch(in, p, m, device, in->start.position);
}

void rt_inputs_batch(const RtInputs *in, const RtProgram *p, const RtMemory *m,
                     int64_t device, int64_t position)
{
    for (int i = 0; i < p->ntensor && in->has_batches; i++) {
        const RtTensor *t = &rt_tensors(p)[i];
        if (t->class_ == RT_INPUT)
            rt_data_fill(&in->batches, p, t, device, position,
                         rt_address(m, &t->place, device, 0));
    }
}
