// First values: pinned, and the same however a tensor is split.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rt_blob.h"
#include "runtime/box.h"
#include "runtime/init.h"
#include "runtime/part.h"
#include "runtime/random.h"

// The known answers that Random123 is distributed with.
static void test_philox(void **state)
{
    (void)state;
    const struct {
        uint32_t counter[4], key[2], want[4];
    } known[] = {
        {{0}, {0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{~0u, ~0u, ~0u, ~0u},
         {~0u, ~0u},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        uint32_t got[4];
        rt_philox(known[i].counter, known[i].key, got);
        assert_memory_equal(got, known[i].want, sizeof got);
    }
}

static void test_quantile(void **state)
{
    (void)state;
    for (double x = -8; x <= 8; x += 0.0625) {
        double p = 0.5 * erfc(-x / sqrt(2));
        double upper = 0.5 * erfc(x / sqrt(2));
        double got =
            x <= 0 ? rt_normal_quantile(p) : -rt_normal_quantile(upper);
        assert_true(fabs(got - x) <= 1e-13 * (1 + fabs(x)));
    }
}

static RtTensor *weight(TestBlob *b, RtInit init, double value)
{
    RtTensor *t = blob_tensor(b, "moe.wq_a", RT_PARAM, RT_f32);
    t->init = (int32_t)init;
    t->init_value = value;
    return t;
}

// Calculated apart from this program, in Python.
static void test_pinned(void **state)
{
    (void)state;
    const struct {
        RtInit init;
        uint64_t seed;
        float want[4];
    } pinned[] = {
        {RT_INIT_NORMAL,
         0,
         {-0.00750365527f, 0.0906470418f, 0.372798651f, -0.00061120902f}},
        {RT_INIT_TRUNCATED_NORMAL,
         0,
         {-0.00814234279f, 0.0983147696f, 0.400869578f, -0.000663235318f}},
        {RT_INIT_NORMAL,
         7,
         {-0.214335233f, -0.177064493f, 0.351219267f, 0.801706791f}},
        {RT_INIT_TRUNCATED_NORMAL,
         7,
         {-0.231926084f, -0.191771507f, 0.378085345f, 0.81948787f}},
    };
    for (size_t i = 0; i < sizeof pinned / sizeof pinned[0]; i++) {
        TestBlob b;
        float got[4];
        blob_init(&b, 0, NULL);
        RtTensor *t = weight(&b, pinned[i].init, 0.5);
        blob_dim(&b, t, 4, NULL);
        rt_init(&b.p, t, pinned[i].seed, 0, (char *)got);
        assert_memory_equal(got, pinned[i].want, sizeof got);
    }
}

// The mean and deviation of many, and how far they reach.
static void test_moments(void **state)
{
    (void)state;
    enum { N = 200000 };
    static float x[N];
    for (RtInit init = RT_INIT_NORMAL; init <= RT_INIT_TRUNCATED_NORMAL;
         init++) {
        TestBlob b;
        blob_init(&b, 0, NULL);
        RtTensor *t = weight(&b, init, 3);
        blob_dim(&b, t, N, NULL);
        rt_init(&b.p, t, 1, 0, (char *)x);
        double sum = 0, squares = 0, most = 0;
        for (int i = 0; i < N; i++) {
            sum += (double)x[i];
            squares += (double)x[i] * (double)x[i];
            most = fmax(most, fabs((double)x[i]));
        }
        assert_true(fabs(sum / N) < 0.03);
        assert_true(fabs(sqrt(squares / N) - 3) < 0.03);
        double cut = 3 * 2 / 0.87962566103423978;
        assert_true(init == RT_INIT_NORMAL ? most > cut
                                           : most <= cut && most > 0.99 * cut);
    }
}

static void test_plain(void **state)
{
    (void)state;
    TestBlob b;
    blob_init(&b, 0, NULL);
    RtTensor *t = weight(&b, RT_INIT_CONSTANT, 2.5);
    blob_dim(&b, t, 3, NULL);
    float got[3];
    rt_init(&b.p, t, 0, 0, (char *)got);
    assert_memory_equal(got, ((float[]){2.5f, 2.5f, 2.5f}), sizeof got);
    t->init = RT_INIT_ONES;
    t->dtype = RT_bf16;
    uint16_t halves[3];
    rt_init(&b.p, t, 0, 0, (char *)halves);
    assert_memory_equal(halves, ((uint16_t[]){0x3f80, 0x3f80, 0x3f80}),
                        sizeof halves);
}

// Each device's own part of a tensor [11, 12], put together, is the whole; its
// padding is zero.
static void check_split(const RtSplit *rows, const RtSplit *cols)
{
    enum { ROWS = 11, COLS = 12, N = ROWS * COLS };
    TestBlob b;
    float whole[N], together[N], part[4 * N];
    blob_init(&b, 0, NULL);
    RtTensor *t = weight(&b, RT_INIT_NORMAL, 1);
    blob_dim(&b, t, ROWS, NULL);
    blob_dim(&b, t, COLS, NULL);
    rt_init(&b.p, t, 3, 0, (char *)whole);

    blob_init(&b, 3, (int[]){2, 3, 2});
    t = weight(&b, RT_INIT_NORMAL, 1);
    blob_dim(&b, t, ROWS, rows);
    blob_dim(&b, t, COLS, cols);
    int64_t entries = 0;
    for (int64_t d = 0; d < b.p.ndevice; d++) {
        memset(part, 0xff, sizeof part);
        rt_init(&b.p, t, 3, d, (char *)part);
        rt_gather(&b.p, t, d, (char *)part, (char *)together);
        int64_t mine = 0, zero = 0, n = t->local[0] * t->local[1];
        for (int64_t k = 0; k < rt_box_count(t); k++) {
            RtBox box = rt_box(&b.p, t, d, k);
            mine += rt_box_size(t, &box);
        }
        for (int64_t i = 0; i < n; i++)
            zero += part[i] == 0;
        assert_int_equal(zero, n - mine);
        entries += rt_is_first(&b.p, t, d) ? mine : 0;
    }
    assert_int_equal(entries, N);
    assert_memory_equal(whole, together, sizeof whole);
}

static void test_split(void **state)
{
    (void)state;
    const RtSplit major = {.n = 2, .item = {0, 1}};
    const RtSplit minor = {.n = 1, .item = {2}};
    const RtSplit gap = {.n = 2, .item = {-3, 2}};
    check_split(&major, NULL);
    check_split(NULL, &minor);
    check_split(&major, &minor);
    check_split(&major, &gap);
    check_split(NULL, &gap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_philox), cmocka_unit_test(test_quantile),
        cmocka_unit_test(test_pinned), cmocka_unit_test(test_moments),
        cmocka_unit_test(test_plain),  cmocka_unit_test(test_split),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
