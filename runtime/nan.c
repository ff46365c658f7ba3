#include "runtime/nan.h"

#include <string.h>

#include "runtime/devices.h"

static bool has_nan(const char *at, int32_t dtype, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits;
        uint16_t half;
        if (dtype == RT_f32) {
            memcpy(&bits, at + 4 * i, sizeof bits);
        } else {
            memcpy(&half, at + 2 * i, sizeof half);
            bits = (uint32_t)half << 16;
        }
        if ((bits & 0x7fffffff) > 0x7f800000)
            return true;
    }
    return false;
}

// Devices take turns at the kernels between two collectives, so a later look
// may be at an earlier position.
void nan_look(const RtProgram *p, const RtMemory *m, int kernel, int64_t device,
              int64_t iter, int64_t position, NanFound *found)
{
    const RtProbe *probe = &rt_probes(p)[kernel];
    bool is_float = probe->dtype == RT_f32 || probe->dtype == RT_bf16;
    if (!p->probes || !probe->is_dense || !is_float ||
        (found->position && found->position <= position))
        return;
    const char *result = rt_address(m, &probe->result, device, iter);
    if (has_nan(result, probe->dtype, probe->count))
        *found = (NanFound){position, device, kernel};
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
