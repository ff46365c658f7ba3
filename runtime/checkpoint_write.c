#define _GNU_SOURCE
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/checkpoint.h"
#include "runtime/devices.h"
#include "runtime/part.h"
#include "runtime/random.h"

// Calls `each` for every piece that the device is the first to hold.
typedef void Each(void *user, const RtTensor *t, const RtBox *b);

static void for_each_piece(const RtProgram *p, int64_t device, Each *each,
                           void *user)
{
    for (int i = 0; i < p->ntensor; i++) {
        const RtTensor *t = &rt_tensors(p)[i];
        bool kept = t->class_ == RT_PARAM || t->class_ == RT_STATE;
        if (!kept || !rt_is_first(p, t, device))
            continue;
        for (int64_t k = 0; k < rt_box_count(t); k++) {
            RtBox b = rt_box(p, t, device, k);
            if (rt_box_size(t, &b) > 0)
                each(user, t, &b);
        }
    }
}

// Its name in the file: that of the tensor, and where in it if it is not the
// whole, `wq[0:4, 8:16]`.
static char *piece_name(const RtTensor *t, const RtBox *b)
{
    char *name = NULL;
    size_t size;
    bool whole = true;
    FILE *f = open_memstream(&name, &size);
    if (!f)
        return NULL;
    fputs(t->name, f);
    for (int d = 0; d < t->rank; d++)
        whole &= b->extent[d] == t->dim[d];
    for (int d = 0; d < t->rank && !whole; d++)
        fprintf(f, "%s%ld:%ld%s", d ? ", " : "[", (long)b->at[d],
                (long)(b->at[d] + b->extent[d]), d == t->rank - 1 ? "]" : "");
    fclose(f);
    return name;
}

static void count_piece(void *user, const RtTensor *t, const RtBox *b)
{
    (void)t, (void)b;
    ++*(int *)user;
}

static int count_pieces(const RtProgram *p, int64_t device)
{
    int n = 0;
    for_each_piece(p, device, count_piece, &n);
    return n;
}

static bool check_dir(const char *dir, int64_t step, FILE *message)
{
    if (mkdir(dir, 0777) != 0 && errno != EEXIST) {
        fprintf(message, "%s: cannot make: %s\n", dir, strerror(errno));
        return false;
    }
    struct stat st;
    errno = ENOTDIR;
    if (stat(dir, &st) != 0 || !S_ISDIR(st.st_mode) ||
        access(dir, W_OK | X_OK) != 0) {
        fprintf(message, "%s: cannot write: %s\n", dir, strerror(errno));
        return false;
    }
    int64_t newest = checkpoint_newest(dir);
    if (newest <= step)
        return true;
    fprintf(message,
            "%s: holds step-%08ld, which this run, from step %ld on, would "
            "mix with its own; load that or save elsewhere\n",
            dir, (long)newest, (long)step);
    return false;
}

bool rt_saver_open(const RtProgram *p, const char *dir, int keep, int64_t step,
                   FILE *message, RtSaver *s)
{
    *s = (RtSaver){.program = p, .dir = dir, .keep = keep};
    s->shard_of = calloc((size_t)p->ndevice, sizeof s->shard_of[0]);
    if (!s->shard_of)
        return false;
    for (int64_t d = 0; d < p->ndevice; d++)
        s->shard_of[d] = count_pieces(p, d) ? s->nshard++ : -1;
    if (!check_dir(dir, step, message))
        return false;
    checkpoint_clean(dir);
    return true;
}

void rt_saver_close(RtSaver *s)
{
    if (s->dir)
        checkpoint_clean(s->dir);
    free(s->shard_of);
    *s = (RtSaver){0};
}

bool rt_saver_begin(const RtSaver *s, int64_t step, FILE *message)
{
    char *path = checkpoint_path(s->dir, step, ".tmp");
    bool ok = path && checkpoint_remove(path) && mkdir(path, 0777) == 0;
    if (!ok)
        fprintf(message, "%s/step-%08ld: cannot make: %s\n", s->dir, (long)step,
                strerror(errno));
    free(path);
    return ok;
}

static char *shard_name(const RtSaver *s, int shard)
{
    char *name;
    if (asprintf(&name, "shard-%05d-of-%05d.safetensors", shard, s->nshard) < 0)
        return NULL;
    return name;
}

// A device's pieces as they are written.
typedef struct Shard {
    const RtProgram *p;
    const RtMemory *memory;
    int64_t device;
    OutFile file;
    SafeTensor *type;
    int ntype;
} Shard;

static void describe(void *user, const RtTensor *t, const RtBox *b)
{
    Shard *s = user;
    int64_t begin = s->ntype ? s->type[s->ntype - 1].end : 0;
    SafeTensor *x = &s->type[s->ntype++];
    *x = (SafeTensor){
        .name = piece_name(t, b),
        .dtype = safetensors_dtype((RtDType)t->dtype),
        .rank = t->rank,
        .begin = begin,
        .end = begin + rt_box_size(t, b) * rt_dtype_bytes(t->dtype),
    };
    memcpy(x->dim, b->extent, sizeof x->dim);
}

// Through a copy that has its entries one after another.
static void write_piece(void *user, const RtTensor *t, const RtBox *b)
{
    Shard *s = user;
    const int64_t origin[RT_MAX_RANK] = {0};
    int64_t size = rt_dtype_bytes(t->dtype);
    size_t bytes = (size_t)(rt_box_size(t, b) * size);
    char *local = rt_address(s->memory, &t->place, s->device, 0);
    if (rt_box_size(t, b) * size == rt_local_bytes(t)) {
        outfile_write(&s->file, local, bytes);
        return;
    }
    char *dense = s->file.failed ? NULL : malloc(bytes);
    if (!dense) {
        if (!s->file.failed)
            fprintf(s->file.message, "%s: out of memory\n", s->file.name);
        s->file.failed = true;
        return;
    }
    rt_box_copy(t->rank, b->extent, size, (RtArray){local, t->local, b->local},
                (RtArray){dense, b->extent, origin});
    outfile_write(&s->file, dense, bytes);
    free(dense);
}

bool rt_saver_write(const RtSaver *s, const RtMemory *m, int64_t device,
                    int64_t step, FILE *message, ShardSum *sum)
{
    const RtProgram *p = s->program;
    if (s->shard_of[device] < 0)
        return true;
    Shard x = {.p = p, .memory = m, .device = device};
    x.type = calloc((size_t)count_pieces(p, device), sizeof x.type[0]);
    char *dir = checkpoint_path(s->dir, step, ".tmp");
    char *name = shard_name(s, s->shard_of[device]), *path = NULL;
    bool ok = x.type && dir && name && asprintf(&path, "%s/%s", dir, name) > 0;
    if (ok) {
        for_each_piece(p, device, describe, &x);
        outfile_begin(&x.file, path, message);
        x.file.is_summed = true;
        safetensors_begin(&x.file, x.type, x.ntype);
        for_each_piece(p, device, write_piece, &x);
        *sum = (ShardSum){x.file.bytes, x.file.crc};
        ok = outfile_end(&x.file);
    }
    for (int i = 0; i < x.ntype; i++)
        free((char *)x.type[i].name);
    free(x.type);
    free(dir);
    free(name);
    free(path);
    return ok;
}

static json_t *numbers(const int64_t n[], int count)
{
    json_t *a = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(a, json_integer(n[i]));
    return a;
}

typedef struct Index {
    json_t *tensors; // by name
    int shard;
} Index;

static void index_piece(void *user, const RtTensor *t, const RtBox *b)
{
    const Index *x = user;
    json_t *pieces =
        json_object_get(json_object_get(x->tensors, t->name), "pieces");
    char *name = piece_name(t, b);
    json_array_append_new(pieces, json_pack("{s:i, s:s, s:o, s:o}", "shard",
                                            x->shard, "name", name, "offset",
                                            numbers(b->at, t->rank), "shape",
                                            numbers(b->extent, t->rank)));
    free(name);
}

static json_t *index_tensors(const RtSaver *s)
{
    const RtProgram *p = s->program;
    Index x = {.tensors = json_object()};
    for (int i = 0; i < p->ntensor; i++) {
        const RtTensor *t = &rt_tensors(p)[i];
        if (t->class_ != RT_PARAM && t->class_ != RT_STATE)
            continue;
        json_t *entry = json_pack("{s:s, s:s, s:o, s:[]}", "class",
                                  t->class_ == RT_PARAM ? "param" : "state",
                                  "dtype", safetensors_dtype((RtDType)t->dtype),
                                  "shape", numbers(t->dim, t->rank), "pieces");
        json_object_set_new(x.tensors, t->name, entry);
    }
    for (int64_t d = 0; d < p->ndevice; d++) {
        x.shard = s->shard_of[d];
        if (x.shard >= 0)
            for_each_piece(p, d, index_piece, &x);
    }
    return x.tensors;
}

static json_t *index_shards(const RtSaver *s, const ShardSum sum[])
{
    json_t *shards = json_array();
    for (int i = 0; i < s->nshard; i++) {
        char crc[16], *name = shard_name(s, i);
        snprintf(crc, sizeof crc, "%08x", (unsigned)sum[i].crc);
        json_array_append_new(
            shards, json_pack("{s:s, s:I, s:s}", "file", name, "bytes",
                              (json_int_t)sum[i].bytes, "crc32", crc));
        free(name);
    }
    return shards;
}

// Of names, types and shapes: two checkpoints of one model have the same.
static uint64_t hash_model(const RtProgram *p)
{
    uint64_t h = 0;
    for (int i = 0; i < p->ntensor; i++) {
        const RtTensor *t = &rt_tensors(p)[i];
        if (t->class_ != RT_PARAM)
            continue;
        char text[RT_MAX_NAME + 32 + 21 * RT_MAX_RANK];
        int n = snprintf(text, sizeof text, "%s %s", t->name,
                         rt_dtype_name[t->dtype]);
        for (int d = 0; d < t->rank; d++)
            n += snprintf(text + n, sizeof text - (size_t)n, " %ld",
                          (long)t->dim[d]);
        h += rt_hash(text);
    }
    return h;
}

static bool write_index(const RtSaver *s, const RtProgress *at,
                        const ShardSum sum[], const char *dir, FILE *message)
{
    char seed[24], hash[24], *path;
    if (asprintf(&path, "%s/index.json", dir) < 0)
        return false;
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)at->seed);
    snprintf(hash, sizeof hash, "%016llx",
             (unsigned long long)hash_model(s->program));
    json_t *index = json_pack(
        "{s:i, s:I, s:s, s:I, s:s, s:s, s:o, s:o}", "format", 1, "step",
        (json_int_t)at->step, "seed", seed, "position",
        (json_int_t)at->position, "mesh", s->program->mesh, "model", hash,
        "shards", index_shards(s, sum), "tensors", index_tensors(s));
    char *text = json_dumps(index, JSON_INDENT(1));
    OutFile f;
    outfile_begin(&f, path, message);
    if (text)
        outfile_write(&f, text, strlen(text));
    bool ok = outfile_end(&f) && text;
    free(text);
    json_decref(index);
    free(path);
    return ok;
}

bool rt_saver_commit(const RtSaver *s, const RtProgress *at,
                     const ShardSum sum[], FILE *message)
{
    char *temp = checkpoint_path(s->dir, at->step, ".tmp");
    char *path = checkpoint_path(s->dir, at->step, "");
    bool ok = temp && path && write_index(s, at, sum, temp, message);
    if (ok && (!checkpoint_sync(temp) || rename(temp, path) != 0 ||
               !checkpoint_sync(s->dir))) {
        fprintf(message, "%s: cannot write: %s\n", path, strerror(errno));
        ok = false;
    }
    if (ok)
        checkpoint_prune(s->dir, s->keep);
    free(temp);
    free(path);
    return ok;
}
