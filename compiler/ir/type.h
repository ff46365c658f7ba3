// Element types and shapes.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
    MAX_RANK = 8,
};

typedef enum DType {
#define DTYPE(name, bytes) DT_##name,
#include "ir/dtypes.def"
    NDTYPE,
} DType;

// A tensor's element type and sizes, row major.
typedef struct Type {
    DType dtype;
    int rank;
    int64_t dim[MAX_RANK];
} Type;

extern const char *const dtype_name[];
extern const int dtype_bytes[];

// NDTYPE if no element type is called so.
DType dtype_find(const char *name);
bool dtype_is_float(DType t);

bool type_equal(const Type *a, const Type *b);
bool type_same_shape(const Type *a, const Type *b);
int64_t type_count(const Type *t);
int64_t type_bytes(const Type *t);
