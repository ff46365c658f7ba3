#include "runtime/part.h"

#include <string.h>

#include "runtime/box.h"
#include "runtime/devices.h"

void rt_scatter(const RtProgram *p, const RtTensor *t, int64_t device,
                const char *global, char *local)
{
    if (rt_has_padding(p, t))
        memset(local, 0, (size_t)rt_local_bytes(t));
    for (int64_t k = 0; k < rt_box_count(t); k++) {
        RtBox b = rt_box(p, t, device, k);
        rt_box_copy(t->rank, b.extent, rt_dtype_bytes(t->dtype),
                    (RtArray){(char *)global, t->dim, b.at},
                    (RtArray){local, t->local, b.local});
    }
}

// The devices with coordinate 0 in every atom that splits no dimension.
bool rt_is_first(const RtProgram *p, const RtTensor *t, int64_t device)
{
    uint64_t split = 0;
    for (int d = 0; d < t->rank; d++)
        for (int i = 0; i < t->split[d].n; i++)
            if (t->split[d].item[i] >= 0)
                split |= (uint64_t)1 << t->split[d].item[i];
    for (int a = 0; a < p->natom; a++)
        if (!(split >> a & 1) &&
            device / p->atom[a].stride % p->atom[a].size != 0)
            return false;
    return true;
}

void rt_gather(const RtProgram *p, const RtTensor *t, int64_t device,
               const char *local, char *global)
{
    for (int64_t k = 0; k < rt_box_count(t) && rt_is_first(p, t, device); k++) {
        RtBox b = rt_box(p, t, device, k);
        rt_box_copy(t->rank, b.extent, rt_dtype_bytes(t->dtype),
                    (RtArray){(char *)local, t->local, b.local},
                    (RtArray){global, t->dim, b.at});
    }
}

int64_t rt_tensor_bytes(const RtTensor *t)
{
    int64_t n = rt_dtype_bytes(t->dtype);
    for (int d = 0; d < t->rank; d++)
        n *= t->dim[d];
    return n;
}
