// Reading a checkpoint. Nothing in it is believed: the index must describe the
// program's tensors, every file must have the size and the checksum that the
// index gives, and the pieces of a tensor must be boxes that fill it.
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "runtime/checkpoint.h"
#include "runtime/devices.h"
#include "runtime/part.h"
#include "runtime/tensors.h"

// What is being read.
typedef struct Reader {
    const RtProgram *p;
    bool with_states;
    FILE *message;
    RtCheckpoint *c;
    json_t *index;
} Reader;

// The path of a checkpoint in `path`, or it itself.
static char *find(const char *path, FILE *message)
{
    char *index = NULL;
    if (asprintf(&index, "%s/index.json", path) < 0)
        return NULL;
    bool is_one = access(index, F_OK) == 0;
    free(index);
    if (is_one)
        return strdup(path);
    int64_t step = checkpoint_newest(path);
    if (step >= 0)
        return checkpoint_path(path, step, "");
    fprintf(message, "%s: no checkpoint in it\n", path);
    return NULL;
}

static json_t *read_index(const char *path, FILE *message)
{
    char *file = NULL;
    json_error_t error;
    if (asprintf(&file, "%s/index.json", path) < 0)
        return NULL;
    json_t *index = json_load_file(file, JSON_REJECT_DUPLICATES, &error);
    if (!index)
        fprintf(message, "%s: cannot read: line %d: %s\n", file, error.line,
                error.text);
    free(file);
    return index;
}

static bool read_count(const json_t *object, const char *key, int64_t *n)
{
    const json_t *x = json_object_get(object, key);
    *n = json_is_integer(x) ? json_integer_value(x) : -1;
    return *n >= 0;
}

// The numbers of an array, of a known length or, if that is -1, of any.
static int read_numbers(const json_t *object, const char *key, int rank,
                        int64_t n[])
{
    const json_t *a = json_object_get(object, key);
    size_t count = json_array_size(a);
    if (!json_is_array(a) || count > RT_MAX_RANK ||
        (rank >= 0 && count != (size_t)rank))
        return -1;
    for (size_t i = 0; i < count; i++) {
        const json_t *x = json_array_get(a, i);
        if (!json_is_integer(x) || json_integer_value(x) < 0)
            return -1;
        n[i] = json_integer_value(x);
    }
    return (int)count;
}

static bool fault(const Reader *r, const char *what)
{
    fprintf(r->message, "%s/index.json: %s\n", r->c->path, what);
    return false;
}

static bool read_progress(Reader *r)
{
    int64_t format;
    const char *seed = json_string_value(json_object_get(r->index, "seed"));
    char *end = NULL;
    if (!read_count(r->index, "format", &format) || format != 1)
        return fault(r, "not a checkpoint's index of format 1");
    if (seed)
        r->c->at.seed = strtoull(seed, &end, 10);
    if (!seed || end == seed || *end ||
        !read_count(r->index, "step", &r->c->at.step) ||
        !read_count(r->index, "position", &r->c->at.position))
        return fault(r, "no step, seed or position");
    if (!json_is_object(json_object_get(r->index, "tensors")) ||
        !json_is_array(json_object_get(r->index, "shards")))
        return fault(r, "no tensors or no shards");
    return true;
}

// Letters, digits, dots and the like: fit for a message and for a path.
static bool is_plain(const char *s)
{
    for (; s && *s; s++)
        if (!isalnum((unsigned char)*s) && !strchr("._-", *s))
            return false;
    return s != NULL;
}

// The type of a tensor as the index has it.
static bool read_type(const json_t *entry, SafeTensor *t)
{
    t->dtype = json_string_value(json_object_get(entry, "dtype"));
    t->rank = read_numbers(entry, "shape", -1, t->dim);
    return is_plain(t->dtype) && t->rank >= 0;
}

static bool is_wanted(const Reader *r, const RtTensor *t)
{
    return t->class_ == RT_PARAM || (r->with_states && t->class_ == RT_STATE);
}

// Tells each tensor of the program that is not in the index as it should be.
static bool check_wanted(const Reader *r)
{
    bool ok = true;
    for (int i = 0; i < r->p->ntensor; i++) {
        const RtTensor *t = &rt_tensors(r->p)[i];
        if (!is_wanted(r, t))
            continue;
        const json_t *entry =
            json_object_get(json_object_get(r->index, "tensors"), t->name);
        SafeTensor found = {.name = t->name};
        bool is_there = entry && read_type(entry, &found);
        if (is_there && rt_same_type(t, &found))
            continue;
        rt_print_mismatch(t, is_there ? &found : NULL, r->c->path, r->message);
        ok = false;
    }
    return ok;
}

static bool is_in_program(const Reader *r, const char *name)
{
    for (int i = 0; i < r->p->ntensor; i++) {
        const RtTensor *t = &rt_tensors(r->p)[i];
        if (is_wanted(r, t) && strcmp(t->name, name) == 0)
            return true;
    }
    return false;
}

// Tells each tensor that the program has not. A program without an optimizer
// passes over the states of one.
static bool check_extra(const Reader *r)
{
    bool ok = true;
    const char *name;
    json_t *entry;
    json_object_foreach(json_object_get(r->index, "tensors"), name, entry)
    {
        const char *class_ = json_string_value(json_object_get(entry, "class"));
        bool is_state = class_ && strcmp(class_, "state") == 0;
        SafeTensor found = {.name = name};
        if (is_in_program(r, name) || (is_state && !r->with_states))
            continue;
        fprintf(r->message, "%s: tensor ", r->c->path);
        safetensors_print_name(name, r->message);
        fputs(": wanted none, found ", r->message);
        if (read_type(entry, &found))
            safetensors_print_type(&found, r->message);
        else
            fputs("one", r->message);
        fputc('\n', r->message);
        ok = false;
    }
    return ok;
}

// The checksum of a file and its size; false with errno set.
static bool sum_file(const char *path, ShardSum *sum)
{
    char block[1 << 16];
    *sum = (ShardSum){0};
    FILE *f = fopen(path, "rbe");
    if (!f)
        return false;
    for (size_t n; (n = fread(block, 1, sizeof block, f)) > 0;) {
        sum->bytes += (int64_t)n;
        sum->crc = (uint32_t)crc32_z(sum->crc, (const Bytef *)block, n);
    }
    bool ok = !ferror(f);
    fclose(f);
    return ok;
}

static bool open_shard(const Reader *r, int i, const json_t *entry)
{
    RtCheckpoint *c = r->c;
    const char *name = json_string_value(json_object_get(entry, "file"));
    const char *crc = json_string_value(json_object_get(entry, "crc32"));
    int64_t bytes;
    ShardSum sum;
    if (!is_plain(name) || !crc ||
        !read_count(entry, "bytes", &bytes))
        return fault(r, "a shard without file, bytes or crc32");
    if (asprintf(&c->shard_path[i], "%s/%s", c->path, name) < 0) {
        c->shard_path[i] = NULL;
        return false;
    }
    const char *path = c->shard_path[i];
    if (!sum_file(path, &sum)) {
        fprintf(r->message, "%s: cannot read: %s\n", path, strerror(errno));
        return false;
    }
    if (sum.bytes != bytes) {
        fprintf(r->message, "%s: has %ld bytes, %ld were written\n", path,
                (long)sum.bytes, (long)bytes);
        return false;
    }
    char found[16];
    snprintf(found, sizeof found, "%08x", (unsigned)sum.crc);
    if (strcmp(found, crc) != 0) {
        fprintf(r->message, "%s: corrupt: checksum %s, ", path, found);
        safetensors_print_name(crc, r->message);
        fputs(" was written\n", r->message);
        return false;
    }
    return safetensors_open(path, r->message, &c->shard[i]);
}

static bool open_shards(const Reader *r)
{
    const json_t *shards = json_object_get(r->index, "shards");
    size_t n = json_array_size(shards);
    r->c->shard = calloc(n + 1, sizeof r->c->shard[0]);
    r->c->shard_path = calloc(n + 1, sizeof r->c->shard_path[0]);
    if (!r->c->shard || !r->c->shard_path)
        return fault(r, "out of memory");
    r->c->nshard = (int)n;
    bool ok = true;
    for (size_t i = 0; i < n; i++)
        ok = open_shard(r, (int)i, json_array_get(shards, i)) && ok;
    return ok;
}

static bool read_piece(const Reader *r, const RtTensor *t, const json_t *entry,
                       RtPiece *piece)
{
    int64_t shard;
    const char *name = json_string_value(json_object_get(entry, "name"));
    RtBox *b = &piece->box;
    if (!name || !read_count(entry, "shard", &shard) || shard >= r->c->nshard ||
        read_numbers(entry, "offset", t->rank, b->at) < 0 ||
        read_numbers(entry, "shape", t->rank, b->extent) < 0)
        return false;
    const SafeFile *file = &r->c->shard[shard];
    const SafeTensor *found = safetensors_find(file, name);
    if (!found || !safetensors_is(found, (RtDType)t->dtype) ||
        found->rank != t->rank)
        return false;
    for (int d = 0; d < t->rank; d++)
        if (found->dim[d] != b->extent[d] || b->at[d] > t->dim[d] ||
            b->extent[d] > t->dim[d] - b->at[d])
            return false;
    piece->data = file->data + found->begin;
    return true;
}

// Whether no two meet and together they have all entries.
static bool fills(const RtTensor *t, const RtPiece piece[], int n)
{
    int64_t entries = 0;
    RtBox both;
    for (int i = 0; i < n; i++) {
        entries += rt_box_size(t, &piece[i].box);
        for (int j = 0; j < i; j++)
            if (rt_box_meet(t->rank, &piece[i].box, &piece[j].box, &both))
                return false;
    }
    return entries == rt_tensor_bytes(t) / rt_dtype_bytes(t->dtype);
}

static bool read_pieces(const Reader *r, int i)
{
    const RtTensor *t = &rt_tensors(r->p)[i];
    const json_t *pieces = json_object_get(
        json_object_get(json_object_get(r->index, "tensors"), t->name),
        "pieces");
    size_t n = json_array_size(pieces);
    RtPiece *piece = calloc(n + 1, sizeof piece[0]);
    r->c->piece[i] = piece;
    r->c->npiece[i] = (int)n;
    bool ok = piece != NULL;
    for (size_t k = 0; k < n && ok; k++)
        ok = read_piece(r, t, json_array_get(pieces, k), &piece[k]);
    if (ok && fills(t, piece, (int)n))
        return true;
    fprintf(r->message, "%s/index.json: tensor %s: its pieces do not fill it\n",
            r->c->path, t->name);
    return false;
}

static bool read_all(Reader *r)
{
    if (!read_progress(r))
        return false;
    bool wanted = check_wanted(r);
    bool extra = check_extra(r);
    bool shards = open_shards(r);
    if (!wanted || !extra || !shards)
        return false;
    size_t n = (size_t)r->p->ntensor + 1;
    r->c->piece = calloc(n, sizeof r->c->piece[0]);
    r->c->npiece = calloc(n, sizeof r->c->npiece[0]);
    bool ok = r->c->piece && r->c->npiece;
    for (int i = 0; i < r->p->ntensor && ok; i++)
        ok = !is_wanted(r, &rt_tensors(r->p)[i]) || read_pieces(r, i);
    return ok;
}

bool rt_checkpoint_open(const RtProgram *p, const char *path, bool with_states,
                        FILE *message, RtCheckpoint *c)
{
    *c = (RtCheckpoint){.path = find(path, message), .ntensor = p->ntensor};
    Reader r = {.p = p, .with_states = with_states, .message = message, .c = c};
    if (c->path)
        r.index = read_index(c->path, message);
    bool ok = r.index && read_all(&r);
    json_decref(r.index);
    if (!ok)
        rt_checkpoint_close(c);
    return ok;
}

void rt_checkpoint_close(RtCheckpoint *c)
{
    for (int i = 0; i < c->nshard; i++) {
        safetensors_close(&c->shard[i]);
        free(c->shard_path[i]);
    }
    for (int i = 0; i < c->ntensor && c->piece; i++)
        free(c->piece[i]);
    free(c->shard);
    free(c->shard_path);
    free(c->piece);
    free(c->npiece);
    free(c->path);
    *c = (RtCheckpoint){0};
}

void rt_checkpoint_load(const RtCheckpoint *c, const RtProgram *p, int tensor,
                        int64_t device, char *local)
{
    const RtTensor *t = &rt_tensors(p)[tensor];
    if (rt_has_padding(p, t))
        memset(local, 0, (size_t)rt_local_bytes(t));
    for (int64_t k = 0; k < rt_box_count(t); k++) {
        RtBox b = rt_box(p, t, device, k), both;
        for (int i = 0; i < c->npiece[tensor]; i++) {
            const RtPiece *piece = &c->piece[tensor][i];
            int64_t at[RT_MAX_RANK] = {0};
            if (!rt_box_meet(t->rank, &b, &piece->box, &both))
                continue;
            for (int d = 0; d < t->rank; d++)
                at[d] = both.at[d] - piece->box.at[d];
            rt_box_copy(t->rank, both.extent, rt_dtype_bytes(t->dtype),
                        (RtArray){(char *)piece->data, piece->box.extent, at},
                        (RtArray){local, t->local, both.local});
        }
    }
}
