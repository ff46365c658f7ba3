#define _GNU_SOURCE
#include "runtime/data.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/box.h"
#include "runtime/devices.h"
#include "runtime/part.h"
#include "runtime/random.h"

enum {
    FEISTEL_ROUNDS = 6,
};

typedef enum Role {
    TOKENS,
    TARGETS,
    POSITIONS,
    SEGMENTS,
    TARGET_MASK,
    NO_ROLE,
} Role;

static const char *const role_name[] = {"tokens", "targets", "positions",
                                        "segments", "target_mask"};

static Role role_of(const RtTensor *t)
{
    Role r = TOKENS;
    while (r < NO_ROLE && strcmp(t->name, role_name[r]) != 0)
        r++;
    return r;
}

static const RtTensor *find_input(const RtProgram *p, const char *name)
{
    for (int i = 0; i < p->ntensor; i++) {
        const RtTensor *t = &rt_tensors(p)[i];
        if (t->class_ == RT_INPUT && strcmp(t->name, name) == 0)
            return t;
    }
    return NULL;
}

// A pseudorandom permutation of 0 .. n - 1: a Feistel network on the smallest
// even number of bits, applied until the result is below n.
static int64_t permute(uint64_t seed, int64_t epoch, int64_t n, int64_t i)
{
    int half = 1;
    while (half < 31 && (int64_t)1 << 2 * half < n)
        half++;
    uint64_t mask = ((uint64_t)1 << half) - 1, x = (uint64_t)i;
    RtStream s = {.seed = seed, .name = rt_hash("order of windows")};
    s.name += (uint64_t)epoch;
    do {
        uint64_t left = x >> half, right = x & mask;
        for (uint64_t k = 0; k < FEISTEL_ROUNDS; k++) {
            uint64_t next = left ^ (rt_random(s, k << 32 | right) & mask);
            left = right;
            right = next;
        }
        x = left << half | right;
    } while (x >= (uint64_t)n);
    return (int64_t)x;
}

// The number, in the file, of window k of a run.
static int64_t window_of(const RtData *d, int64_t k)
{
    if (!d->nwindow)
        return k;
    return permute(d->seed, k / d->nwindow, d->nwindow, k % d->nwindow);
}

static int64_t id_at(const RtData *d, int64_t i)
{
    uint16_t half;
    uint32_t whole;
    if (!d->path) {
        RtStream s = {.seed = d->seed, .name = rt_hash("made-up ids")};
        return (int64_t)((rt_random(s, i) >> 32) * (uint64_t)d->limit >> 32);
    }
    if (d->id_bytes == 2) {
        memcpy(&half, d->ids + 2 * i, sizeof half);
        return half;
    }
    memcpy(&whole, d->ids + 4 * i, sizeof whole);
    return whole;
}

int64_t rt_data_bad(const RtData *d, int64_t position)
{
    for (int64_t b = 0; b < d->batch && d->path; b++) {
        int64_t first = window_of(d, position + b) * d->seq;
        for (int64_t i = first; i < first + d->nid; i++)
            if (id_at(d, i) >= d->limit)
                return i;
    }
    return -1;
}

void rt_data_tell(const RtData *d, int64_t bad, FILE *message)
{
    fprintf(message, "%s: the id at byte %ld is %ld; must be less than %ld\n",
            d->path, (long)bad * d->id_bytes, (long)id_at(d, bad),
            (long)d->limit);
}

static void put(const RtTensor *t, char *at, int64_t value)
{
    int32_t whole = (int32_t)value;
    float f = (float)value;
    switch ((RtDType)t->dtype) {
    case RT_f32: memcpy(at, &f, 4); break;
    case RT_bf16: memcpy(at, (char *)&f + 2, 2); break;
    case RT_i32: memcpy(at, &whole, 4); break;
    case RT_bool: *at = value != 0; break;
    }
}

static int64_t value_of(const RtData *d, Role role, int64_t window, int64_t s)
{
    switch (role) {
    case TOKENS: return id_at(d, window * d->seq + s);
    case TARGETS: return id_at(d, window * d->seq + s + 1);
    case POSITIONS: return s;
    default: return 1;
    }
}

void rt_data_fill(const RtData *d, const RtProgram *p, const RtTensor *t,
                  int64_t device, int64_t position, char *local)
{
    Role role = role_of(t);
    int64_t size = rt_dtype_bytes(t->dtype);
    if (rt_has_padding(p, t))
        memset(local, 0, (size_t)rt_local_bytes(t));
    for (int64_t k = 0; k < rt_box_count(t); k++) {
        RtBox b = rt_box(p, t, device, k);
        for (int64_t i = 0; i < b.extent[0]; i++) {
            int64_t window = window_of(d, position + b.at[0] + i);
            int64_t row = (b.local[0] + i) * t->local[1] + b.local[1];
            for (int64_t s = 0; s < b.extent[1]; s++)
                put(t, local + (row + s) * size,
                    value_of(d, role, window, b.at[1] + s));
        }
    }
}

// The inputs must be those that a window makes.
static bool check_inputs(const RtProgram *p, const char *from, FILE *message)
{
    const RtTensor *tokens = find_input(p, "tokens");
    bool ok = true;
    for (int i = 0; i < p->ntensor; i++) {
        const RtTensor *t = &rt_tensors(p)[i];
        if (t->class_ != RT_INPUT)
            continue;
        if (role_of(t) == NO_ROLE) {
            fprintf(message,
                    "input %s: %s makes only tokens, targets, positions, "
                    "segments and target_mask; give --feed\n",
                    t->name, from);
            ok = false;
        } else if (!tokens || t->rank != 2 || t->dim[0] != tokens->dim[0] ||
                   t->dim[1] != tokens->dim[1]) {
            fprintf(message,
                    "input %s: %s makes matrices [batch, seq] of the shape of "
                    "an input tokens; give --feed\n",
                    t->name, from);
            ok = false;
        } else if (role_of(t) == POSITIONS && t->has_limit &&
                   t->limit < t->dim[1]) {
            fprintf(message,
                    "input positions: up to %ld, must be less than %ld\n",
                    (long)t->dim[1] - 1, (long)t->limit);
            ok = false;
        }
    }
    return ok;
}

// What ids must be less than, by all the inputs that hold them.
static int64_t limit_of(const RtProgram *p)
{
    int64_t limit = INT32_MAX;
    for (Role r = TOKENS; r <= TARGETS; r++) {
        const RtTensor *t = find_input(p, role_name[r]);
        if (t && t->has_limit && t->limit < limit)
            limit = t->limit;
    }
    return limit;
}

static bool map_ids(RtData *d, FILE *message)
{
    int fd = open(d->path, O_RDONLY | O_CLOEXEC);
    void *mapping = MAP_FAILED;
    struct stat st;
    if (fd >= 0 && fstat(fd, &st) == 0) {
        errno = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
        d->bytes = (size_t)st.st_size;
        if (S_ISREG(st.st_mode))
            mapping = mmap(NULL, d->bytes ? d->bytes : 1, PROT_READ, MAP_SHARED,
                           fd, 0);
    }
    int why = errno;
    if (fd >= 0)
        close(fd);
    if (mapping != MAP_FAILED) {
        d->ids = mapping;
        return true;
    }
    fprintf(message, "%s: cannot read: %s\n", d->path,
            why == EINVAL ? "not a regular file" : strerror(why));
    return false;
}

static bool cut_windows(RtData *d, FILE *message)
{
    if (d->bytes % (size_t)d->id_bytes) {
        fprintf(message, "%s: %zu bytes are no whole number of u%d ids\n",
                d->path, d->bytes, 8 * d->id_bytes);
        return false;
    }
    int64_t n = (int64_t)d->bytes / d->id_bytes;
    d->nwindow = n > 0 && d->seq > 0 ? (n - 1) / d->seq : 0;
    if (d->nwindow >= d->batch && d->nwindow > 0)
        return true;
    fprintf(message,
            "%s: %ld ids are too few for a batch: %ld windows of %ld + 1 take "
            "%ld\n",
            d->path, (long)n, (long)d->batch, (long)d->seq,
            (long)(d->batch * d->seq + 1));
    return false;
}

bool rt_data_open(const RtProgram *p, const char *path, const char *type,
                  uint64_t seed, FILE *message, RtData *d)
{
    *d = (RtData){.path = path, .seed = seed, .limit = limit_of(p)};
    if (!check_inputs(p, path ? "--data" : "made-up data", message))
        return false;
    const RtTensor *tokens = find_input(p, "tokens");
    if (!tokens) // nor any other input
        return true;
    d->batch = tokens->dim[0];
    d->seq = tokens->dim[1];
    d->nid = d->seq + (find_input(p, "targets") != NULL);
    d->id_bytes = type && strcmp(type, "u32") == 0 ? 4 : 2;
    if (!path)
        fprintf(message,
                "no --data and no --feed: made-up tokens, "
                "seed %llu\n",
                (unsigned long long)seed);
    else if (!map_ids(d, message) || !cut_windows(d, message)) {
        rt_data_close(d);
        return false;
    }
    return true;
}

void rt_data_close(RtData *d)
{
    if (d->ids)
        munmap((void *)d->ids, d->bytes ? d->bytes : 1);
    *d = (RtData){0};
}

int64_t rt_batch_tokens(const RtProgram *p)
{
    const RtTensor *t = find_input(p, "tokens");
    for (int i = 0; i < p->ntensor && !t; i++) {
        const RtTensor *x = &rt_tensors(p)[i];
        if (x->class_ == RT_INPUT && x->dtype == RT_i32 && x->rank == 2)
            t = x;
    }
    return t ? t->dim[0] * t->dim[1] : 0;
}
