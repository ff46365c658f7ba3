#define _GNU_SOURCE
#include "runtime/safetensors.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LENGTH_BYTES = 8,
    MAX_HEADER = 100 * 1000 * 1000,
    MAX_FAULTS = 20,
};

typedef struct SafeDType {
    const char *name;
    int bytes;
} SafeDType;

// Those that the format knows; only some of them can be loaded.
static const SafeDType dtypes[] = {
    {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E4M3", 1}, {"F8_E5M2", 1},
    {"F16", 2},  {"I16", 2}, {"U16", 2}, {"BF16", 2},    {"F32", 4},
    {"I32", 4},  {"U32", 4}, {"F64", 8}, {"I64", 8},     {"U64", 8},
};

// The file being read, and the faults found in it so far.
typedef struct Reader {
    const char *path;
    FILE *message;
    int nfault;
    int64_t data_bytes;
} Reader;

void safetensors_print_name(const char *s, FILE *f)
{
    for (; *s; s++)
        if (iscntrl((unsigned char)*s))
            fprintf(f, "\\x%02x", (unsigned char)*s);
        else
            fputc(*s, f);
}

__attribute__((format(printf, 3, 4))) static void
fault(Reader *r, const char *tensor, const char *fmt, ...)
{
    if (r->nfault++ >= MAX_FAULTS)
        return;
    fprintf(r->message, "%s: ", r->path);
    if (tensor) {
        fputs("tensor ", r->message);
        safetensors_print_name(tensor, r->message);
        fputs(": ", r->message);
    }
    va_list ap;
    va_start(ap, fmt);
    vfprintf(r->message, fmt, ap);
    va_end(ap);
    fputc('\n', r->message);
}

static const SafeDType *find_dtype(const char *name)
{
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++)
        if (strcmp(dtypes[i].name, name) == 0)
            return &dtypes[i];
    return NULL;
}

static bool read_dtype(Reader *r, const json_t *info, SafeTensor *t)
{
    const json_t *dtype = json_object_get(info, "dtype");
    if (!json_is_string(dtype)) {
        fault(r, t->name, "no dtype");
        return false;
    }
    const SafeDType *known = find_dtype(json_string_value(dtype));
    if (!known) {
        fault(r, t->name, "unknown dtype");
        return false;
    }
    t->dtype = known->name;
    return true;
}

static bool read_shape(Reader *r, const json_t *info, SafeTensor *t)
{
    const json_t *shape = json_object_get(info, "shape");
    if (!json_is_array(shape)) {
        fault(r, t->name, "no shape");
        return false;
    }
    size_t rank = json_array_size(shape);
    if (rank > RT_MAX_RANK) {
        fault(r, t->name, "%zu dimensions; at most %d can be read", rank,
              RT_MAX_RANK);
        return false;
    }
    for (size_t i = 0; i < rank; i++) {
        const json_t *dim = json_array_get(shape, i);
        if (!json_is_integer(dim) || json_integer_value(dim) < 0) {
            fault(r, t->name, "dimension %zu is no size", i);
            return false;
        }
        t->dim[i] = json_integer_value(dim);
    }
    t->rank = (int)rank;
    return true;
}

static bool read_offsets(Reader *r, const json_t *info, SafeTensor *t)
{
    const json_t *offsets = json_object_get(info, "data_offsets");
    const json_t *begin = json_array_get(offsets, 0);
    const json_t *end = json_array_get(offsets, 1);
    if (json_array_size(offsets) != 2 || !json_is_integer(begin) ||
        !json_is_integer(end)) {
        fault(r, t->name, "no data_offsets");
        return false;
    }
    t->begin = json_integer_value(begin);
    t->end = json_integer_value(end);
    if (t->begin < 0 || t->end < t->begin) {
        fault(r, t->name, "data_offsets [%ld, %ld] are no range",
              (long)t->begin, (long)t->end);
        return false;
    }
    if (t->end > r->data_bytes) {
        fault(r, t->name, "data ends at %ld, past the end of the file at %ld",
              (long)t->end, (long)r->data_bytes);
        return false;
    }
    return true;
}

static bool check_size(Reader *r, const SafeTensor *t)
{
    int64_t bytes = find_dtype(t->dtype)->bytes;
    for (int i = 0; i < t->rank; i++) {
        if (__builtin_mul_overflow(bytes, t->dim[i], &bytes)) {
            fault(r, t->name, "the shape overflows");
            return false;
        }
    }
    if (bytes == t->end - t->begin)
        return true;
    fault(r, t->name, "shape and dtype want %ld bytes, data_offsets give %ld",
          (long)bytes, (long)(t->end - t->begin));
    return false;
}

static void read_tensor(Reader *r, const char *name, const json_t *info,
                        SafeFile *f)
{
    SafeTensor t = {.name = name};
    if (!json_is_object(info)) {
        fault(r, name, "is no object");
        return;
    }
    bool dtype = read_dtype(r, info, &t);
    bool shape = read_shape(r, info, &t);
    bool offsets = read_offsets(r, info, &t);
    if (dtype && shape && offsets && check_size(r, &t))
        f->tensor[f->ntensor++] = t;
}

static int by_place(const void *a, const void *b)
{
    const SafeTensor *s = a, *t = b;
    if (s->begin != t->begin)
        return s->begin < t->begin ? -1 : 1;
    return (s->end > t->end) - (s->end < t->end);
}

static int by_name(const void *a, const void *b)
{
    const SafeTensor *s = a, *t = b;
    return strcmp(s->name, t->name);
}

// The tensors must cover the data: no byte twice, none left over.
static void check_cover(Reader *r, SafeFile *f)
{
    qsort(f->tensor, (size_t)f->ntensor, sizeof f->tensor[0], by_place);
    int64_t at = 0;
    for (int i = 0; i < f->ntensor; i++) {
        const SafeTensor *t = &f->tensor[i];
        if (t->begin > at)
            fault(r, t->name, "a hole of %ld bytes before its data",
                  (long)(t->begin - at));
        if (t->begin < at)
            fault(r, t->name, "its data at %ld overlaps the tensor before it",
                  (long)t->begin);
        if (t->end > at)
            at = t->end;
    }
    if (at < r->data_bytes)
        fault(r, NULL, "the last %ld bytes belong to no tensor",
              (long)(r->data_bytes - at));
}

static void read_header(Reader *r, json_t *header, SafeFile *f)
{
    f->tensor = calloc(json_object_size(header) + 1, sizeof f->tensor[0]);
    if (!f->tensor) {
        fault(r, NULL, "%s", strerror(errno));
        return;
    }
    const char *name;
    json_t *info;
    json_object_foreach(header, name, info)
    {
        if (strcmp(name, "__metadata__") != 0)
            read_tensor(r, name, info, f);
        else if (!json_is_object(info))
            fault(r, NULL, "__metadata__ is no object");
    }
    if (!r->nfault)
        check_cover(r, f);
    qsort(f->tensor, (size_t)f->ntensor, sizeof f->tensor[0], by_name);
}

static json_t *parse_json(Reader *r, const char *text, size_t length)
{
    json_error_t error;
    json_t *header = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    if (json_is_object(header))
        return header;
    if (header)
        snprintf(error.text, sizeof error.text, "not an object");
    json_decref(header);
    fprintf(r->message, "%s: bad header: ", r->path);
    safetensors_print_name(error.text, r->message);
    fputc('\n', r->message);
    r->nfault++;
    return NULL;
}

// The length of the header, or 0 after saying why there is none.
static size_t header_length(Reader *r, const char *bytes, size_t size)
{
    uint64_t length = 0;
    if (size < LENGTH_BYTES) {
        fault(r, NULL, "%zu bytes are too few for a safetensors file", size);
        return 0;
    }
    for (int i = LENGTH_BYTES - 1; i >= 0; i--)
        length = length << 8 | (unsigned char)bytes[i];
    if (length > MAX_HEADER)
        fault(r, NULL,
              "header length %lu is above %d bytes: not a "
              "safetensors file?",
              (unsigned long)length, MAX_HEADER);
    else if (length > size - LENGTH_BYTES)
        fault(r, NULL,
              "header length %lu runs past the end of the file, "
              "which has %zu bytes",
              (unsigned long)length, size);
    else if (length == 0)
        fault(r, NULL, "header length is 0");
    return r->nfault ? 0 : (size_t)length;
}

bool safetensors_parse(const char *path, const char *bytes, size_t size,
                       FILE *message, SafeFile *f)
{
    Reader r = {.path = path, .message = message};
    *f = (SafeFile){.path = path};
    size_t length = header_length(&r, bytes, size);
    json_t *header = NULL;
    if (length)
        header = parse_json(&r, bytes + LENGTH_BYTES, length);
    if (header) {
        f->header = header;
        f->data = bytes + LENGTH_BYTES + length;
        r.data_bytes = (int64_t)(size - LENGTH_BYTES - length);
        read_header(&r, header, f);
    }
    if (r.nfault > MAX_FAULTS)
        fprintf(message, "%s: %d more faults\n", path, r.nfault - MAX_FAULTS);
    if (r.nfault)
        safetensors_close(f);
    return r.nfault == 0;
}

// Maps a regular file. Returns NULL with errno set.
static void *map_file(const char *path, size_t *size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    void *mapping = MAP_FAILED;
    struct stat st;
    if (fstat(fd, &st) == 0) {
        errno = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
        *size = (size_t)st.st_size;
        if (S_ISREG(st.st_mode))
            mapping =
                mmap(NULL, *size ? *size : 1, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    int why = errno;
    close(fd);
    errno = why;
    return mapping == MAP_FAILED ? NULL : mapping;
}

bool safetensors_open(const char *path, FILE *message, SafeFile *f)
{
    *f = (SafeFile){0};
    size_t size;
    void *mapping = map_file(path, &size);
    if (!mapping) {
        fprintf(message, "%s: cannot read: %s\n", path,
                errno == EINVAL ? "not a regular file" : strerror(errno));
        return false;
    }
    bool ok = safetensors_parse(path, mapping, size, message, f);
    if (!ok) {
        munmap(mapping, size ? size : 1);
        return false;
    }
    f->mapping = mapping;
    f->mapped = size ? size : 1;
    return true;
}

void safetensors_close(SafeFile *f)
{
    json_decref(f->header);
    free(f->tensor);
    if (f->mapping)
        munmap(f->mapping, f->mapped);
    *f = (SafeFile){0};
}

const SafeTensor *safetensors_find(const SafeFile *f, const char *name)
{
    if (!f->ntensor)
        return NULL;
    SafeTensor key = {.name = name};
    return bsearch(&key, f->tensor, (size_t)f->ntensor, sizeof key, by_name);
}
