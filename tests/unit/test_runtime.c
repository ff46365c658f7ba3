// Whole runs of programs built by hand: files in, steps, files out.
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "rt_blob.h"
#include "runtime/safetensors.h"

enum {
    IN = 0,     // where the test programs keep x in the private segment
    OUT = 4096, // and their output
    SENT = 0,   // in the shared segment: what collectives read
};

static char folder[] = "/tmp/shardc-runtime-XXXXXX";
static char text[8192]; // what the last run said

static const char *path_of(const char *name)
{
    static char path[4][256];
    static int next;
    char *p = path[next++ % 4];
    snprintf(p, sizeof path[0], "%s/%s", folder, name);
    return p;
}

static int run_with(const TestBlob *b, RtKernel *const kernels[], RtOptions o)
{
    memset(text, 0, sizeof text);
    FILE *f = fmemopen(text, sizeof text - 1, "w");
    int code = rt_run((const char *)b, kernels, &o, f, f);
    fclose(f);
    return code;
}

static void write_tensor(const char *path, SafeTensor t, const void *data)
{
    OutFile f;
    outfile_begin(&f, path, stderr);
    safetensors_begin(&f, &t, 1);
    outfile_write(&f, data, (size_t)t.end);
    assert_true(outfile_end(&f));
}

static void write_i32(const char *path, const char *name, int64_t rows,
                      int64_t cols, int32_t first)
{
    int32_t data[512];
    for (int i = 0; i < rows * cols; i++)
        data[i] = first + i;
    SafeTensor t = {.name = name, .dtype = "I32", .rank = 2,
                    .dim = {rows, cols}, .end = rows * cols * 4};
    write_tensor(path, t, data);
}

static const int32_t *read_i32(SafeFile *f, const char *path, const char *name,
                               int64_t count)
{
    assert_true(safetensors_open(path, stderr, f));
    const SafeTensor *t = safetensors_find(f, name);
    assert_non_null(t);
    assert_int_equal(t->end - t->begin, count * 4);
    return (const void *)(f->data + t->begin);
}

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
    for (int isolate = 0; isolate < 2; isolate++) {
        RtOptions o = {.feed = in, .dump = out, .isolate = isolate};
        if (run_with(b, kernels, o) != 0)
            fail_msg("%s", text);
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
        {6, 4, whole, whole}, {6, 4, first, whole},  {6, 4, whole, second},
        {6, 4, first, second}, {8, 12, both, whole}, {3, 12, whole, both},
        {8, 5, gap, whole},   {5, 8, second, gap},   {24, 3, gaps, whole},
        {3, 24, whole, gaps}, {7, 5, first, second}, {5, 2, both, whole},
        {2, 7, whole, both},  {3, 3, first, second}, {1, 1, both, whole},
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

// Padding is zero, whatever the file holds.
static void count_zeros(char *priv, char *shared, int64_t device, int64_t iter)
{
    (void)shared, (void)device, (void)iter;
    int32_t n = 0, x[6];
    memcpy(x, priv + IN, sizeof x);
    for (int i = 0; i < 6; i++)
        n += x[i] == 0;
    memcpy(priv + OUT, &n, sizeof n);
}

static void test_padding_is_zero(void **state)
{
    (void)state;
    RtKernel *const kernels[] = {count_zeros};
    RtSplit row = {.n = 1, .item = {0}};
    TestBlob b;
    blob_init(&b, 1, (int[]){3});
    RtTensor *x = blob_tensor(&b, "x", RT_PARAM, RT_i32);
    blob_dim(&b, x, 7, &row); // 3 rows each: 3, 3 and 1
    blob_dim(&b, x, 2, NULL);
    RtTensor *y = blob_tensor(&b, "y", RT_OUTPUT, RT_i32);
    y->place.at = OUT;
    blob_dim(&b, y, 3, &row);
    blob_step(&b, RT_KERNEL, 0, 0);
    write_i32(path_of("in"), "x", 7, 2, 1);
    RtOptions o = {.load = path_of("in"), .dump = path_of("out")};
    assert_int_equal(run_with(&b, kernels, o), 0);
    SafeFile f;
    const int32_t *got = read_i32(&f, o.dump, "y", 3);
    assert_int_equal(got[0] + got[1], 0);
    assert_int_equal(got[2], 4);
    safetensors_close(&f);
}

// Rounds of a loop: sent = device + iter + what came; the sum of all comes.
static void send_kernel(char *priv, char *shared, int64_t device, int64_t iter)
{
    float came, sent;
    memcpy(&came, priv + OUT, sizeof came);
    sent = (float)device + (float)iter + came;
    memcpy(shared + SENT, &sent, sizeof sent);
}

static void make_loop(TestBlob *b, int ndevice, int trip)
{
    blob_init(b, 1, &ndevice);
    b->collective[0] = (RtCollective){
        .id = 1, .kind = RT_ALL_REDUCE, .rank = 1, .dim = {1}, .group = {.n = 1},
        .source = {.is_shared = 1, .at = SENT}, .result = {.at = OUT},
        .bytes = 4};
    b->p.ncollective = 1;
    b->p.nkernel = 1;
    blob_step(b, RT_LOOP, 2, trip);
    blob_step(b, RT_KERNEL, 0, 0);
    blob_step(b, RT_COLLECTIVE, 0, 0);
    blob_tensor(b, "loss", RT_OUTPUT, RT_f32)->place.at = OUT;
}

static double loop_result(int ndevice, int trip)
{
    double came = 0;
    for (int i = 0; i < trip; i++)
        came = ndevice * (ndevice - 1) / 2 + ndevice * (i + came);
    return came;
}

static void test_loop(void **state)
{
    (void)state;
    RtKernel *const kernels[] = {send_kernel};
    TestBlob b;
    for (int n = 1; n <= 5; n++) {
        make_loop(&b, n, 5);
        char want[64];
        snprintf(want, sizeof want, "loss %.7g\n", loop_result(n, 5));
        for (int w = 0; w < 7; w++) {
            RtOptions o = {.workers = w, .isolate = w == 6};
            assert_int_equal(run_with(&b, kernels, o), 0);
            assert_string_equal(text, want);
        }
    }
}

static void test_many_barriers(void **state)
{
    (void)state;
    RtKernel *const kernels[] = {send_kernel};
    TestBlob b;
    make_loop(&b, 4, 0);
    b.step[0].trip = 3000;
    for (int isolate = 0; isolate < 2; isolate++) {
        RtOptions o = {.workers = 2 + isolate, .isolate = isolate};
        assert_int_equal(run_with(&b, kernels, o), 0);
    }
}

// y[round][device]: a result with a step, a nested loop, a constant.
static void nested_kernel(char *priv, char *shared, int64_t device,
                          int64_t iter)
{
    int32_t constant, sent;
    memcpy(&constant, priv + 128, sizeof constant);
    sent = constant + (int32_t)(10 * iter + device);
    memcpy(shared + SENT + iter * 4, &sent, sizeof sent);
}

static void test_steps_constants_nesting(void **state)
{
    (void)state;
    RtKernel *const kernels[] = {nested_kernel};
    TestBlob b;
    blob_init(&b, 1, (int[]){2});
    b.data[3] = 500;
    b.constant[0] = (RtConstant){{.at = 128}, 4, offsetof(TestBlob, data) + 12};
    b.p.nconstant = 1;
    b.collective[0] = (RtCollective){
        .id = 1, .kind = RT_ALL_GATHER, .dtype = RT_i32, .rank = 1, .dim = {1},
        .group = {.n = 1}, .source = {.is_shared = 1, .at = SENT, .step = 4},
        .result = {.at = OUT, .step = 8}, .bytes = 8};
    b.p.ncollective = 1;
    blob_step(&b, RT_LOOP, 3, 2);
    blob_step(&b, RT_LOOP, 2, 3);
    blob_step(&b, RT_KERNEL, 0, 0);
    blob_step(&b, RT_COLLECTIVE, 0, 0);
    RtTensor *y = blob_tensor(&b, "y", RT_OUTPUT, RT_i32);
    y->place.at = OUT;
    blob_dim(&b, y, 3, NULL);
    blob_dim(&b, y, 2, NULL);
    RtOptions o = {.dump = path_of("out"), .stats = path_of("stats")};
    assert_int_equal(run_with(&b, kernels, o), 0);
    SafeFile f;
    const int32_t *got = read_i32(&f, o.dump, "y", 6);
    for (int i = 0; i < 6; i++)
        assert_int_equal(got[i], 500 + 10 * (i / 2) + i % 2);
    safetensors_close(&f);
}

static void check_stats(const char *want)
{
    char line[256] = "";
    FILE *f = fopen(path_of("stats"), "r");
    assert_non_null(f);
    size_t n = fread(line, 1, sizeof line - 1, f);
    line[n] = '\0';
    fclose(f);
    assert_string_equal(line, want);
}

static void test_stats_and_repeat(void **state)
{
    (void)state;
    RtKernel *const kernels[] = {send_kernel};
    TestBlob b;
    make_loop(&b, 4, 5);
    RtOptions o = {.stats = path_of("stats")};
    for (int isolate = 0; isolate < 2; isolate++) {
        o.isolate = isolate;
        assert_int_equal(run_with(&b, kernels, o), 0);
        check_stats("id\tkind\tcount\tbytes\nc1\tall_reduce\t5\t20\n");
    }
    o.repeat = 3;
    assert_int_equal(run_with(&b, kernels, o), 0);
    check_stats("id\tkind\tcount\tbytes\nc1\tall_reduce\t15\t60\n");
    assert_non_null(strstr(text, "3 runs: min "));
}

// A device that reads another's private memory works with threads by luck;
// its own process has only its own.
static void peek_kernel(char *priv, char *shared, int64_t device, int64_t iter)
{
    (void)shared, (void)iter;
    static char *first; // each process has its own
    int32_t mine = 77, got;
    if (device == 0) {
        first = priv;
        memcpy(priv + IN, &mine, sizeof mine);
    }
    memcpy(&got, first ? first : priv, sizeof got);
    memcpy(priv + OUT, &got, sizeof got);
}

static void test_isolation(void **state)
{
    (void)state;
    RtKernel *const kernels[] = {peek_kernel};
    TestBlob b;
    blob_init(&b, 1, (int[]){2});
    RtTensor *y = blob_tensor(&b, "y", RT_OUTPUT, RT_i32);
    y->place.at = OUT;
    blob_dim(&b, y, 2, &(RtSplit){.n = 1, .item = {0}});
    blob_step(&b, RT_KERNEL, 0, 0);
    for (int isolate = 0; isolate < 2; isolate++) {
        RtOptions o = {.workers = 1, .isolate = isolate,
                       .dump = path_of("out")};
        assert_int_equal(run_with(&b, kernels, o), 0);
        SafeFile f;
        const int32_t *got = read_i32(&f, o.dump, "y", 2);
        assert_int_equal(got[0], 77);
        assert_int_equal(got[1], isolate ? 0 : 77);
        safetensors_close(&f);
    }
}

static void sleep_kernel(char *priv, char *shared, int64_t device, int64_t iter)
{
    (void)priv, (void)shared, (void)iter;
    if (device == 1)
        nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
}

static void test_deadline(void **state)
{
    (void)state;
    RtKernel *const kernels[] = {sleep_kernel};
    TestBlob b;
    make_loop(&b, 2, 2);
    for (int isolate = 0; isolate < 2; isolate++) {
        RtOptions o = {.workers = 2, .isolate = isolate, .deadline = 0.1};
        assert_int_equal(run_with(&b, kernels, o), RT_EXIT_TIMEOUT);
        assert_non_null(strstr(text, "waited for more than 0.1 s"));
        assert_non_null(strstr(text, "worker 0, device 0: step 2 c1 all_reduce "
                                     "waiting until all have come"));
        assert_non_null(strstr(text,
                               "worker 1, device 1: step 1 kernel 0 running"));
    }
    sleep(1); // the thread that was left behind comes to its end
}

static void die_kernel(char *priv, char *shared, int64_t device, int64_t iter)
{
    (void)priv, (void)shared;
    if (device == 2 && iter == 1)
        raise(SIGKILL);
}

static void test_dead_device(void **state)
{
    (void)state;
    RtKernel *const kernels[] = {die_kernel};
    TestBlob b;
    make_loop(&b, 4, 3);
    RtOptions o = {.isolate = true};
    assert_int_equal(run_with(&b, kernels, o), RT_EXIT_INTERNAL);
    assert_string_equal(text, "device 2: killed by signal 9 (Killed)\n");
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    const char *names[] = {"in", "out", "stats"};
    for (size_t i = 0; i < 3; i++)
        unlink(path_of(names[i]));
    return rmdir(folder); // fails if a temporary file was left
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trips),
        cmocka_unit_test(test_padding_is_zero),
        cmocka_unit_test(test_loop),
        cmocka_unit_test(test_many_barriers),
        cmocka_unit_test(test_steps_constants_nesting),
        cmocka_unit_test(test_stats_and_repeat),
        cmocka_unit_test(test_isolation),
        cmocka_unit_test(test_deadline),
        cmocka_unit_test(test_dead_device),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
