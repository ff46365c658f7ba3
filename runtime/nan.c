#include "runtime/nan.h"

#include <string.h>

#include "runtime/devices.h"

static bool is_nan(const char *at, int32_t dtype)
{
    uint32_t bits;
    uint16_t half;
    if (dtype == RT_f32) {
        memcpy(&bits, at, sizeof bits);
    } else {
        memcpy(&half, at, sizeof half);
        bits = (uint32_t)half << 16;
    }
    return (bits & 0x7fffffff) > 0x7f800000;
}

// dim: a size and a stride of each dimension.
static bool has_nan(const char *at, int32_t dtype, int rank,
                    const int64_t dim[])
{
    if (rank == 0)
        return is_nan(at, dtype);
    int64_t step = dim[1] * rt_dtype_bytes(dtype);
    for (int64_t i = 0; i < dim[0]; i++)
        if (has_nan(at + i * step, dtype, rank - 1, dim + 2))
            return true;
    return false;
}

// Devices take turns at the kernels between two collectives, so a later look
// may be at an earlier position.
void nan_look(const RtProgram *p, const RtMemory *m, int kernel, int64_t device,
              int64_t iter, int64_t position, NanFound *found)
{
    const RtProbe *probe = &rt_probes(p)[kernel];
    bool is_float = probe->dtype == RT_f32 || probe->dtype == RT_bf16;
    if (!p->probes || probe->rank < 0 || !is_float ||
        (found->position && found->position <= position))
        return;
    const char *result = rt_address(m, &probe->result, device, iter);
    const int64_t *dims = (const int64_t *)((const char *)p + probe->dims);
    if (has_nan(result, probe->dtype, probe->rank, dims))
        *found = (NanFound){position, device, kernel};
}

const char *nan_maker(const RtProgram *p, const NanFound *found)
{
    return (const char *)p + rt_probes(p)[found->kernel].what;
}

const NanFound *nan_first(const NanFound found[], int n)
{
    const NanFound *first = NULL;
    for (int i = 0; i < n; i++)
        if (found[i].position &&
            (!first || found[i].position < first->position))
            first = &found[i];
    return first;
}
