// Tensors in files: https://huggingface.co/docs/safetensors, format version 1.
//
// A file is 8 bytes of header length (little endian), a JSON header with
// dtype, shape and offsets of each tensor, and the data. The reader trusts
// nothing in the header; what it returns is consistent.
#pragma once

#include <stddef.h>

#include "runtime/outfile.h"
#include "runtime/program.h"

typedef struct SafeTensor {
    const char *name;
    const char *dtype; // as in the file, "BF16"
    int rank;
    int64_t dim[RT_MAX_RANK];
    int64_t begin; // in the data
    int64_t end;
} SafeTensor;

typedef struct SafeFile {
    const char *path;
    const char *data; // what the offsets count from; aligned to one byte only
    int ntensor;
    SafeTensor *tensor; // sorted by name
    void *header;
    void *mapping;
    size_t mapped;
} SafeFile;

// Each returns false after saying every fault in the file, one a line. `path`
// must outlive `f`.
bool safetensors_open(const char *path, FILE *message, SafeFile *f);
bool safetensors_parse(const char *path, const char *bytes, size_t size,
                       FILE *message, SafeFile *f);
void safetensors_close(SafeFile *f);

const SafeTensor *safetensors_find(const SafeFile *f, const char *name);
// Whether the tensor's entries are stored as `dtype`.
bool safetensors_is(const SafeTensor *t, RtDType dtype);
// A name from a file: nothing in it may reach the terminal as is.
void safetensors_print_name(const char *name, FILE *f);
// `bf16[4, 8]`, as types are spelled everywhere.
void safetensors_print_type(const SafeTensor *t, FILE *f);

// Writing: the types of all tensors, then the data of each in this order. A
// failure is said once, by outfile.
void safetensors_begin(OutFile *f, const SafeTensor tensor[], int n);
const char *safetensors_dtype(RtDType dtype);
