#include <ctype.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/safetensors.h"

static const char *const dtype_of[] = {"F32", "BF16", "I32", "BOOL"};

const char *safetensors_dtype(RtDType dtype)
{
    return dtype_of[dtype];
}

bool safetensors_is(const SafeTensor *t, RtDType dtype)
{
    // A mask is often stored as bytes.
    if (dtype == RT_bool && strcmp(t->dtype, "U8") == 0)
        return true;
    return strcmp(t->dtype, dtype_of[dtype]) == 0;
}

void safetensors_print_type(const SafeTensor *t, FILE *f)
{
    for (const char *s = t->dtype; *s; s++)
        fputc(tolower((unsigned char)*s), f);
    fputc('[', f);
    for (int i = 0; i < t->rank; i++)
        fprintf(f, "%s%ld", i ? ", " : "", (long)t->dim[i]);
    fputc(']', f);
}

static json_t *describe(const SafeTensor *t)
{
    json_t *shape = json_array();
    for (int i = 0; i < t->rank; i++)
        json_array_append_new(shape, json_integer(t->dim[i]));
    return json_pack("{s:s, s:o, s:[I, I]}", "dtype", t->dtype, "shape", shape,
                     "data_offsets", (json_int_t)t->begin, (json_int_t)t->end);
}

// The header is filled with spaces, so that the data is aligned to 8 bytes.
static void write_header(OutFile *f, const char *text)
{
    size_t length = strlen(text);
    size_t padding = -length % 8;
    unsigned char field[8];
    for (int i = 0; i < 8; i++)
        field[i] = (unsigned char)((length + padding) >> 8 * i);
    outfile_write(f, field, sizeof field);
    outfile_write(f, text, length);
    outfile_write(f, "        ", padding);
}

void safetensors_begin(OutFile *f, const SafeTensor tensor[], int n)
{
    json_t *header = json_object();
    for (int i = 0; i < n; i++)
        json_object_set_new(header, tensor[i].name, describe(&tensor[i]));
    char *text = json_dumps(header, JSON_COMPACT);
    if (text && json_object_size(header) == (size_t)n) {
        write_header(f, text);
    } else if (!f->failed) {
        f->failed = true;
        fprintf(f->message, "%s: cannot write: a bad tensor name\n", f->name);
    }
    free(text);
    json_decref(header);
}
