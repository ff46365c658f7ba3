#include "ir/type.h"

#include <string.h>

const char *const dtype_name[] = {
#define DTYPE(name, bytes) [DT_##name] = #name,
#include "ir/dtypes.def"
};

const int dtype_bytes[] = {
#define DTYPE(name, bytes) [DT_##name] = bytes,
#include "ir/dtypes.def"
};

DType dtype_find(const char *name)
{
    for (int i = 0; i < NDTYPE; i++)
        if (strcmp(dtype_name[i], name) == 0)
            return (DType)i;
    return NDTYPE;
}

bool dtype_is_float(DType t)
{
    return t == DT_f32 || t == DT_bf16;
}

bool type_same_shape(const Type *a, const Type *b)
{
    return a->rank == b->rank &&
           memcmp(a->dim, b->dim, sizeof a->dim[0] * (size_t)a->rank) == 0;
}

bool type_equal(const Type *a, const Type *b)
{
    return a->dtype == b->dtype && type_same_shape(a, b);
}

int64_t type_count(const Type *t)
{
    int64_t n = 1;
    for (int i = 0; i < t->rank; i++)
        n *= t->dim[i];
    return n;
}

int64_t type_bytes(const Type *t)
{
    return type_count(t) * dtype_bytes[t->dtype];
}
