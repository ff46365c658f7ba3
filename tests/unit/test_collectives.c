// Every collective on many meshes, groups, shapes and types, against a
// reference that works entry by entry.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rt_blob.h"
#include "runtime/collective.h"

enum {
    MAX_DEVICES = 16,
    SEGMENT = 1 << 18,
};

typedef struct Case {
    TestBlob blob;
    RtCollective *c;
    RtMemory memory;
    char *want;                           // the result of one device
    int nworker;                          // 0: each device for itself
    int member[MAX_DEVICES][MAX_DEVICES]; // of the group of a device
} Case;

static uint32_t noise(uint32_t x)
{
    x = (x ^ x >> 15) * 0x2c1b3c6du;
    x = (x ^ x >> 12) * 0x297a2d39u;
    return x ^ x >> 15;
}

// A value that rounds when it is added to others, so that order matters.
static void put_noise(int dtype, char *at, uint32_t seed)
{
    uint32_t x = noise(seed);
    float f = (float)((int)(x % 20001) - 10000) / 777.0f;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    uint16_t high = (uint16_t)(bits >> 16);
    if (dtype == RT_f32)
        memcpy(at, &f, 4);
    else if (dtype == RT_bf16)
        memcpy(at, &high, 2);
    else if (dtype == RT_i32)
        memcpy(at, &x, 4);
    else
        *at = (char)(x >> 7 & 1);
}

static double get(int dtype, const char *at)
{
    uint32_t bits = 0;
    memcpy(&bits, at, (size_t)rt_dtype_bytes(dtype));
    if (dtype == RT_i32 || dtype == RT_bool)
        return (int32_t)bits;
    if (dtype == RT_bf16)
        bits <<= 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return (double)f;
}

// The nearest bf16, the even one of two: by trying both neighbours.
static uint16_t nearest_bf16(double x)
{
    float f = (float)x;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    uint16_t low = (uint16_t)(bits >> 16), high = (uint16_t)(low + 1);
    double below = fabs(get(RT_bf16, (char *)&low) - x);
    double above = fabs(get(RT_bf16, (char *)&high) - x);
    if (below == above)
        return low & 1 ? high : low;
    return below < above ? low : high;
}

static void put(int dtype, char *at, double x)
{
    float f = (float)x;
    uint16_t h = nearest_bf16(x);
    int64_t i = (int64_t)(dtype == RT_i32 || dtype == RT_bool ? x : 0);
    if (dtype == RT_f32)
        memcpy(at, &f, 4);
    else if (dtype == RT_bf16)
        memcpy(at, &h, 2);
    else if (dtype == RT_i32)
        memcpy(at, &i, 4);
    else
        *at = (char)(i != 0);
}

static double combine(int how, int dtype, double a, double b)
{
    if (how == RT_MAX)
        return a > b ? a : b;
    if (how == RT_MIN)
        return a < b ? a : b;
    if (dtype == RT_i32)
        return (int32_t)((uint32_t)(int32_t)a + (uint32_t)(int32_t)b);
    return dtype == RT_bool ? a + b : (double)((float)a + (float)b);
}

// The digits of a device's number in the atoms of a split, as one number.
static int number_of(const Case *t, const RtSplit *s, int device)
{
    int digit[RT_MAX_ATOMS], n = 0;
    for (int a = t->blob.p.natom - 1; a >= 0; a--) {
        digit[a] = device % t->blob.p.atom[a].size;
        device /= t->blob.p.atom[a].size;
    }
    for (int i = 0; i < s->n; i++)
        n = n * t->blob.p.atom[s->item[i]].size + digit[s->item[i]];
    return n;
}

// The device that is member k of the group of `device`.
static int find_member(const Case *t, int device, int k)
{
    for (int e = 0; e < t->blob.p.ndevice; e++) {
        RtSplit rest = {0};
        for (int a = 0; a < t->blob.p.natom; a++) {
            bool in = false;
            for (int i = 0; i < t->c->group.n; i++)
                in = in || t->c->group.item[i] == a;
            if (!in)
                rest.item[rest.n++] = a;
        }
        if (number_of(t, &t->c->group, e) == k &&
            number_of(t, &rest, e) == number_of(t, &rest, device))
            return e;
    }
    fail_msg("no member %d", k);
    return -1;
}

static int64_t flat(const int64_t dim[], int rank, const int64_t at[])
{
    int64_t i = 0;
    for (int d = 0; d < rank; d++)
        i = i * dim[d] + at[d];
    return i;
}

static void result_dims(const RtCollective *c, int n, int64_t dim[])
{
    memcpy(dim, c->dim, sizeof c->dim);
    if (c->kind == RT_REDUCE_SCATTER || c->kind == RT_ALL_TO_ALL)
        dim[c->split_dim] /= n;
    if (c->kind == RT_ALL_GATHER || c->kind == RT_ALL_TO_ALL)
        dim[c->concat_dim] *= n;
}

static const char *source_entry(const Case *t, int device, const int64_t at[])
{
    const RtCollective *c = t->c;
    return rt_shared(&t->memory, device) + c->source.at +
           flat(c->dim, c->rank, at) * rt_dtype_bytes(c->dtype);
}

// One entry of the result of `device`: `at` says which, and is used up.
static void want_entry(const Case *t, int device, int64_t at[], char *out)
{
    const RtCollective *c = t->c;
    int n = (int)rt_pieces(&t->blob.p, &c->group);
    int k = number_of(t, &c->group, device), from = device;
    if (c->kind == RT_ALL_GATHER || c->kind == RT_ALL_TO_ALL) {
        int64_t part = c->dim[c->concat_dim];
        if (c->kind == RT_ALL_TO_ALL && c->split_dim == c->concat_dim)
            part /= n;
        from = t->member[device][at[c->concat_dim] / part];
        at[c->concat_dim] %= part;
    }
    if (c->kind == RT_REDUCE_SCATTER || c->kind == RT_ALL_TO_ALL)
        at[c->split_dim] += k * (c->dim[c->split_dim] / n);
    if (c->kind == RT_COLLECTIVE_PERMUTE)
        from = t->member[device][number_of(t, &c->to, device)];
    if (c->kind != RT_REDUCE_SCATTER && c->kind != RT_ALL_REDUCE) {
        memcpy(out, source_entry(t, from, at),
               (size_t)rt_dtype_bytes(c->dtype));
        return;
    }
    double sum = get(c->dtype, source_entry(t, t->member[device][0], at));
    for (int j = 1; j < n; j++)
        sum = combine(c->combine, c->dtype, sum,
                      get(c->dtype, source_entry(t, t->member[device][j], at)));
    put(c->dtype, out, sum);
}

static void check_device(const Case *t, int device)
{
    const RtCollective *c = t->c;
    int64_t bytes = rt_dtype_bytes(c->dtype), dim[RT_MAX_RANK], n = 1;
    result_dims(c, (int)rt_pieces(&t->blob.p, &c->group), dim);
    for (int d = 0; d < c->rank; d++)
        n *= dim[d];
    for (int64_t i = 0; i < n; i++) {
        int64_t at[RT_MAX_RANK], rest = i;
        for (int d = c->rank - 1; d >= 0; d--) {
            at[d] = rest % dim[d];
            rest /= dim[d];
        }
        want_entry(t, device, at, t->want + i * bytes);
    }
    const char *got = rt_address(&t->memory, &c->result, device, 0);
    if (memcmp(got, t->want, (size_t)(n * bytes)) != 0)
        fail_msg("%s of %s, split %d, concat %d, device %d, %d workers",
                 rt_collective_name[c->kind], rt_dtype_name[c->dtype],
                 c->split_dim, c->concat_dim, device, t->nworker);
    assert_int_equal(got[n * bytes], 0x5a);
}

static void run(Case *t)
{
    int64_t member[MAX_DEVICES];
    const char *source[MAX_DEVICES];
    char *result[MAX_DEVICES];
    Share s = {.nworker = t->nworker,
               .device = -1,
               .member = member,
               .source = source,
               .result = result};
    const RtProgram *p = &t->blob.p;
    Exchange x = exchange_of(p, t->c);
    for (int64_t d = 0; d < p->ndevice; d++)
        memset(rt_address(&t->memory, &t->c->result, d, 0), 0x5a, SEGMENT / 2);
    for (int w = 0; w < t->nworker; w++) {
        s.worker = w;
        exchange_run(&(Execution){p, &x, &t->memory, s, 0});
    }
    for (int64_t d = 0; d < p->ndevice && !t->nworker; d++) {
        s.device = d;
        exchange_run(&(Execution){p, &x, &t->memory, s, 0});
    }
    for (int d = 0; d < p->ndevice; d++)
        check_device(t, d);
}

static void run_all_ways(Case *t)
{
    RtCollective *c = t->c;
    int64_t n = 1;
    for (int d = 0; d < c->rank; d++)
        n *= c->dim[d];
    c->source.is_shared = 1;
    for (int d = 0; d < t->blob.p.ndevice; d++)
        for (int64_t i = 0; i < n; i++)
            put_noise(c->dtype,
                      rt_shared(&t->memory, d) + c->source.at +
                          i * rt_dtype_bytes(c->dtype),
                      (uint32_t)(d * 65537 + i));
    for (int d = 0; d < t->blob.p.ndevice; d++)
        for (int k = 0; k < rt_pieces(&t->blob.p, &c->group); k++)
            t->member[d][k] = find_member(t, d, k);
    c->result = (RtPlace){.is_shared = c->dtype % 2, .at = SEGMENT / 2};
    for (t->nworker = 0; t->nworker < 4; t->nworker++)
        run(t);
}

// All pairs of dimensions, all kinds, for one shape.
static void run_shape(Case *t, const int64_t dim[3])
{
    RtCollective *c = t->c;
    c->rank = 3;
    memcpy(c->dim, dim, sizeof *dim * 3);
    int64_t n = rt_pieces(&t->blob.p, &c->group);
    for (int s = 0; s < 3; s++) {
        c->split_dim = c->concat_dim = s;
        c->kind = RT_ALL_GATHER;
        run_all_ways(t);
        if (dim[s] % n != 0)
            continue;
        c->kind = RT_REDUCE_SCATTER;
        run_all_ways(t);
        c->kind = RT_ALL_TO_ALL;
        for (c->concat_dim = 0; c->concat_dim < 3; c->concat_dim++)
            run_all_ways(t);
    }
    c->split_dim = c->concat_dim = 0;
    c->kind = RT_ALL_REDUCE;
    run_all_ways(t);
    c->kind = RT_COLLECTIVE_PERMUTE;
    c->to = c->group;
    for (int i = 0; i < c->group.n; i++)
        c->to.item[i] = c->group.item[c->group.n - 1 - i];
    run_all_ways(t);
}

static void run_group(int natom, const int size[], RtSplit group)
{
    Case t = {.want = malloc(SEGMENT)};
    blob_init(&t.blob, natom, size);
    t.blob.p.priv_bytes = t.blob.p.shared_bytes = SEGMENT;
    t.c = &t.blob.collective[0];
    t.c->group = group;
    assert_true(rt_memory_map_shared(&t.memory, &t.blob.p, false));
    assert_true(rt_memory_map_priv(&t.memory, &t.blob.p, 0, t.blob.p.ndevice));
    int64_t n = rt_pieces(&t.blob.p, &group);
    int64_t shape[][3] = {{n, 2 * n, 3 * n}, {2 * n, 3, n}, {1, n, 40 * n}};
    for (int dtype = RT_f32; dtype <= RT_bool; dtype++) {
        t.c->dtype = dtype;
        t.c->combine = (dtype + (int)n) % 3;
        run_shape(&t, shape[(dtype + natom) % 3]);
    }
    rt_memory_unmap(&t.memory);
    free(t.want);
}

static void test_one_atom(void **state)
{
    (void)state;
    for (int n = 2; n <= 5; n++)
        run_group(1, &n, (RtSplit){.n = 1, .item = {0}});
}

static void test_one_of_two_atoms(void **state)
{
    (void)state;
    for (int a = 0; a < 2; a++) {
        run_group(2, (int[]){2, 2}, (RtSplit){.n = 1, .item = {a}});
        run_group(2, (int[]){3, 2}, (RtSplit){.n = 1, .item = {a}});
        run_group(2, (int[]){2, 5}, (RtSplit){.n = 1, .item = {a}});
    }
}

static void test_several_atoms(void **state)
{
    (void)state;
    run_group(2, (int[]){2, 2}, (RtSplit){.n = 2, .item = {0, 1}});
    run_group(2, (int[]){2, 2}, (RtSplit){.n = 2, .item = {1, 0}});
    run_group(2, (int[]){2, 3}, (RtSplit){.n = 2, .item = {1, 0}});
    run_group(3, (int[]){2, 2, 2}, (RtSplit){.n = 2, .item = {0, 2}});
    run_group(3, (int[]){2, 3, 2}, (RtSplit){.n = 2, .item = {2, 0}});
    run_group(3, (int[]){2, 2, 2}, (RtSplit){.n = 3, .item = {2, 0, 1}});
}

static void test_all_combiners(void **state)
{
    (void)state;
    Case t = {.want = malloc(SEGMENT)};
    blob_init(&t.blob, 1, (int[]){4});
    t.blob.p.priv_bytes = t.blob.p.shared_bytes = SEGMENT;
    t.c = &t.blob.collective[0];
    *t.c = (RtCollective){
        .kind = RT_ALL_REDUCE, .rank = 2, .dim = {7, 33}, .group = {.n = 1}};
    assert_true(rt_memory_map_shared(&t.memory, &t.blob.p, false));
    assert_true(rt_memory_map_priv(&t.memory, &t.blob.p, 0, 4));
    for (int i = 0; i < 12; i++) {
        t.c->dtype = i / 3;
        t.c->combine = i % 3;
        run_all_ways(&t);
    }
    rt_memory_unmap(&t.memory);
    free(t.want);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_atom),
        cmocka_unit_test(test_one_of_two_atoms),
        cmocka_unit_test(test_several_atoms),
        cmocka_unit_test(test_all_combiners),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
