#include "runtime/init.h"

#include <math.h>
#include <string.h>

#include "runtime/box.h"
#include "runtime/random.h"

#define BELOW_MINUS_TWO 0.022750131948179207 // P(-2)
#define CUT_DEVIATION   0.87962566103423978

static double value_of(const RtTensor *t, RtStream s, int64_t index)
{
    double u;
    switch ((RtInit)t->init) {
    case RT_INIT_ZEROS: return 0;
    case RT_INIT_ONES: return 1;
    case RT_INIT_CONSTANT: return t->init_value;
    case RT_INIT_NORMAL:
        return t->init_value * rt_normal_quantile(rt_uniform(s, index));
    case RT_INIT_TRUNCATED_NORMAL:
        u = rt_uniform(s, index);
        u = BELOW_MINUS_TWO + u * (1 - 2 * BELOW_MINUS_TWO);
        return t->init_value * rt_normal_quantile(u) / CUT_DEVIATION;
    }
    return 0;
}

// As the element type has it; bf16 rounded to nearest even.
static void put(const RtTensor *t, char *at, int64_t i, double value)
{
    float f = (float)value;
    int32_t whole = (int32_t)value;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    uint16_t half = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    switch ((RtDType)t->dtype) {
    case RT_f32: memcpy(at + i * 4, &f, 4); break;
    case RT_bf16: memcpy(at + i * 2, &half, 2); break;
    case RT_i32: memcpy(at + i * 4, &whole, 4); break;
    case RT_bool: at[i] = value != 0; break;
    }
}

// The entries of a box from dimension d on, those before it being fixed.
static void fill(const RtTensor *t, RtStream s, const RtBox *b, int d,
                 int64_t global, int64_t local, char *to)
{
    if (d == t->rank) {
        put(t, to, local, value_of(t, s, global));
        return;
    }
    for (int64_t i = 0; i < b->extent[d]; i++)
        fill(t, s, b, d + 1, global * t->dim[d] + b->at[d] + i,
             local * t->local[d] + b->local[d] + i, to);
}

void rt_init(const RtProgram *p, const RtTensor *t, uint64_t seed,
             int64_t device, char *local)
{
    RtStream s = {.seed = seed, .name = rt_hash(t->name)};
    memset(local, 0, (size_t)rt_local_bytes(t));
    if (t->init == RT_INIT_ZEROS)
        return;
    for (int64_t k = 0; k < rt_box_count(t); k++) {
        RtBox b = rt_box(p, t, device, k);
        if (rt_box_size(t, &b) > 0)
            fill(t, s, &b, 0, 0, 0, local);
    }
}
