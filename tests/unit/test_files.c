// What goes into a run and what comes out: tensors split over devices, and
// files that are not what the program wants.
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "rt_blob.h"

// The local part is copied from the input's place to the output's.
static void copy_kernel(char *priv, char *shared, int64_t device, int64_t iter)
{
    (void)shared, (void)device, (void)iter;
    memcpy(priv + OUT, priv + IN, 2048);
}

// Loads x by a split and dumps it by the same: all devices, padding and gaps.
static void check_round_trip(TestBlob *b, int64_t rows, RtSplit by_row,
                             int64_t cols, RtSplit by_col)
{
    RtKernel *const kernels[] = {copy_kernel};
    RtTensor *x = blob_tensor(b, "x", RT_INPUT, RT_i32);
    blob_dim(b, x, rows, &by_row);
    blob_dim(b, x, cols, &by_col);
    RtTensor *y = &b->tensor[b->p.ntensor++];
    *y = *x;
    strcpy(y->name, "y");
    y->class_ = RT_OUTPUT;
    y->place.at = OUT;
    blob_step(b, RT_KERNEL, 0, 0);
    const char *in = path_of("in"), *out = path_of("out");
    write_i32(in, "x", rows, cols, 7);
    for (int isolate = 0; isolate <= can_fork; isolate++) {
        RtOptions o = {.feed = in, .dump = out, .isolate = isolate};
        if (blob_run(b, kernels, o) != 0)
            fail_msg("%s", said);
        SafeFile f;
        const int32_t *got = read_i32(&f, out, "y", rows * cols);
        for (int i = 0; i < rows * cols; i++)
            assert_int_equal(got[i], 7 + i);
        safetensors_close(&f);
        unlink(out);
    }
}

static void test_round_trips(void **state)
{
    (void)state;
    RtSplit whole = {0}, first = {.n = 1, .item = {0}};
    RtSplit second = {.n = 1, .item = {1}}, both = {.n = 2, .item = {1, 0}};
    RtSplit gap = {.n = 2, .item = {-2, 0}};
    RtSplit gaps = {.n = 4, .item = {-2, 0, -3, 1}};
    struct {
        int64_t rows, cols;
        RtSplit row, col;
    } c[] = {
        {6, 4, whole, whole},  {6, 4, first, whole},  {6, 4, whole, second},
        {6, 4, first, second}, {8, 12, both, whole},  {3, 12, whole, both},
        {8, 5, gap, whole},    {5, 8, second, gap},   {24, 3, gaps, whole},
        {3, 24, whole, gaps},  {7, 5, first, second}, {5, 2, both, whole},
        {2, 7, whole, both},   {3, 3, first, second}, {1, 1, both, whole},
    };
    for (size_t i = 0; i < sizeof c / sizeof c[0]; i++) {
        TestBlob b;
        blob_init(&b, 2, (int[]){2, 2});
        check_round_trip(&b, c[i].rows, c[i].row, c[i].cols, c[i].col);
        blob_init(&b, 2, (int[]){2, 5});
        if (c[i].row.n < 4 && c[i].col.n < 4)
            check_round_trip(&b, c[i].rows, c[i].row, c[i].cols, c[i].col);
    }
}

// Padding is zero, whatever the file holds: also where it is all of a device's
// part.
static void count_zeros(char *priv, char *shared, int64_t device, int64_t iter)
{
    (void)shared, (void)device, (void)iter;
    int32_t n = 0, x[6];
    memcpy(x, priv + IN, sizeof x);
    for (int i = 0; i < 6; i++)
        n += x[i] == 0;
    memcpy(priv + OUT, &n, sizeof n);
}

static void check_padding(int rows, const int want[3])
{
    RtKernel *const kernels[] = {count_zeros};
    RtSplit row = {.n = 1, .item = {0}};
    TestBlob b;
    blob_init(&b, 1, (int[]){3});
    RtTensor *x = blob_tensor(&b, "x", RT_PARAM, RT_i32);
    blob_dim(&b, x, rows, &row);
    blob_dim(&b, x, 2, NULL);
    RtTensor *y = blob_tensor(&b, "y", RT_OUTPUT, RT_i32);
    y->place.at = OUT;
    blob_dim(&b, y, 3, &row);
    blob_step(&b, RT_KERNEL, 0, 0);
    write_i32(path_of("in"), "x", rows, 2, 1);
    RtOptions o = {.load = path_of("in"), .dump = path_of("out")};
    assert_int_equal(blob_run(&b, kernels, o), 0);
    SafeFile f;
    const int32_t *got = read_i32(&f, o.dump, "y", 3);
    for (int d = 0; d < 3; d++)
        assert_int_equal(got[d], want[d]);
    safetensors_close(&f);
}

static void test_padding_is_zero(void **state)
{
    (void)state;
    check_padding(7, (int[]){0, 0, 4}); // rows 3, 3, 1
    check_padding(4, (int[]){2, 2, 6}); // rows 2, 2, none
    check_padding(1, (int[]){4, 6, 6});
}

// One parameter w f32[2, 3] and one input tokens i32[2, 4] below 10.
static void make_program(TestBlob *b)
{
    blob_init(b, 1, (int[]){2});
    RtTensor *w = blob_tensor(b, "w", RT_PARAM, RT_f32);
    blob_dim(b, w, 2, &(RtSplit){.n = 1, .item = {0}});
    blob_dim(b, w, 3, NULL);
    RtTensor *x = blob_tensor(b, "tokens", RT_INPUT, RT_i32);
    blob_dim(b, x, 2, NULL);
    blob_dim(b, x, 4, NULL);
    x->place.at = 1024;
    x->has_limit = true;
    x->limit = 10;
}

static void write_w(const char *dtype, int64_t rows, int64_t cols, int bytes)
{
    static const char zero[256];
    SafeTensor w = {.name = "w",
                    .dtype = dtype,
                    .rank = 2,
                    .dim = {rows, cols},
                    .end = rows * cols * bytes};
    write_tensor(path_of("in"), w, zero);
}

static void check_said(const TestBlob *b, RtOptions o, const char *want)
{
    assert_int_equal(blob_run(b, NULL, o), RT_EXIT_INPUT);
    if (!strstr(said, want))
        fail_msg("wanted: %s\nsaid: %s", want, said);
}

static void test_wrong_parameters(void **state)
{
    (void)state;
    TestBlob b;
    make_program(&b);
    b.p.ntensor = 1;
    RtOptions o = {.load = path_of("in")};
    write_w("F32", 2, 3, 4);
    assert_int_equal(blob_run(&b, NULL, o), 0);
    write_w("F32", 3, 2, 4);
    check_said(&b, o, "tensor w: wanted f32[2, 3], found f32[3, 2]\n");
    write_w("BF16", 2, 3, 2);
    check_said(&b, o, "tensor w: wanted f32[2, 3], found bf16[2, 3]\n");
    write_w("F64", 2, 3, 8);
    check_said(&b, o, "tensor w: wanted f32[2, 3], found f64[2, 3]\n");
    b.tensor[0].dtype = RT_bf16;
    write_w("F32", 2, 3, 4);
    check_said(&b, o, "tensor w: wanted bf16[2, 3], found f32[2, 3]\n");
    b.tensor[0].dtype = RT_bool;
    write_w("U8", 2, 3, 1);
    assert_int_equal(blob_run(&b, NULL, o), 0);
    write_i32(path_of("in"), "other", 2, 3, 0);
    check_said(&b, o, "tensor w: wanted bool[2, 3], found none\n");
}

static void test_bad_values(void **state)
{
    (void)state;
    TestBlob b;
    make_program(&b);
    write_w("F32", 2, 3, 4);
    RtOptions o = {.load = path_of("in"), .feed = path_of("out")};
    write_i32(o.feed, "tokens", 2, 4, 2); // 2 .. 9
    assert_int_equal(blob_run(&b, NULL, o), 0);
    write_i32(o.feed, "tokens", 2, 4, 3);
    check_said(&b, o,
               "tensor tokens: entry [1, 3] is 10; "
               "must be at least 0 and less than 10\n");
    write_i32(o.feed, "tokens", 2, 4, -2);
    check_said(&b, o,
               "tensor tokens: entry [0, 0] is -2; must be at least 0 "
               "and less than 10 (and 1 more)\n");
    b.tensor[1].dtype = RT_bool;
    b.tensor[1].rank = 1;
    b.tensor[1].dim[0] = 3;
    SafeTensor mask = {
        .name = "tokens", .dtype = "BOOL", .rank = 1, .dim = {3}, .end = 3};
    write_tensor(o.feed, mask, "\0\1\2");
    check_said(&b, o, "tensor tokens: entry [2] is 2");
}

static void test_all_faults_at_once(void **state)
{
    (void)state;
    TestBlob b;
    make_program(&b);
    write_w("F32", 2, 2, 4);
    RtOptions o = {
        .load = path_of("in"), .feed = path_of("in"), .dump = "/nonexistent/x"};
    check_said(&b, o, "tensor w: wanted f32[2, 3], found f32[2, 2]\n");
    assert_non_null(
        strstr(said, "tensor tokens: wanted i32[2, 4], found none"));
    assert_non_null(strstr(said, "/nonexistent/x: cannot write"));
}

static void test_no_files(void **state)
{
    (void)state;
    TestBlob b;
    make_program(&b);
    for (int i = 0; i < 4; i++)
        blob_tensor(&b, (char[]){(char)('p' + i), 0}, RT_PARAM, RT_f32);
    check_said(&b, (RtOptions){0},
               "no --load file, but the program has 5 parameters: w, p, q, "
               "...\nno --feed file, but the program has 1 input: tokens\n");
    check_said(&b, (RtOptions){.load = "/nonexistent/x"},
               "/nonexistent/x: cannot read: No such file or directory\n");
}

static void test_unwritable(void **state)
{
    (void)state;
    TestBlob b;
    blob_init(&b, 1, (int[]){2});
    blob_dim(&b, blob_tensor(&b, "y", RT_OUTPUT, RT_f32), 9, NULL);
    const char *no_space = "/dev/full: cannot write: No space left on device\n";
    check_said(&b, (RtOptions){.dump = "/dev/full"}, no_space);
    check_said(&b, (RtOptions){.stats = "/dev/full"}, no_space);
    FILE *full = fopen("/dev/full", "w");
    b.tensor[0].rank = 0;
    RtOptions o = {0};
    assert_int_equal(rt_run((const char *)&b, NULL, &o, full, stderr),
                     RT_EXIT_INPUT);
    fclose(full);
}

// The command line; what it prints goes to the test's own output.
static int main_with(const TestBlob *b, const char *a, const char *c)
{
    char *argv[] = {"prog", (char *)a, (char *)c, NULL};
    int argc = !a ? 1 : !c ? 2 : 3;
    return rt_main(argc, argv, &(RtPrograms){.forward = (const char *)b});
}

static void test_command_line(void **state)
{
    (void)state;
    TestBlob b;
    blob_init(&b, 1, (int[]){2});
    assert_int_equal(main_with(&b, NULL, NULL), 0);
    assert_int_equal(main_with(&b, "--help", NULL), 0);
    assert_int_equal(main_with(&b, "--version", NULL), 0);
    if (can_fork)
        assert_int_equal(main_with(&b, "--isolate", "--workers=1"), 0);
    assert_int_equal(main_with(&b, "--repeat", "2"), 0);
    assert_int_equal(main_with(&b, "--nonsense", NULL), RT_EXIT_USAGE);
    assert_int_equal(main_with(&b, "--load", NULL), RT_EXIT_USAGE);
    assert_int_equal(main_with(&b, "file", NULL), RT_EXIT_USAGE);
    assert_int_equal(main_with(&b, "--workers", "0"), RT_EXIT_USAGE);
    assert_int_equal(main_with(&b, "--workers", "1.5"), RT_EXIT_USAGE);
    assert_int_equal(main_with(&b, "--deadline", "soon"), RT_EXIT_USAGE);
    assert_int_equal(main_with(&b, "--feed", "/nonexistent/x"), RT_EXIT_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trips),
        cmocka_unit_test(test_padding_is_zero),
        cmocka_unit_test(test_wrong_parameters),
        cmocka_unit_test(test_bad_values),
        cmocka_unit_test(test_all_faults_at_once),
        cmocka_unit_test(test_no_files),
        cmocka_unit_test(test_unwritable),
        cmocka_unit_test(test_command_line),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
