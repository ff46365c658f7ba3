// Whole runs of programs built by hand: loops, counters, processes, stalls.
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "rt_blob.h"

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
    b->collective[0] = (RtCollective){.id = 1,
                                      .kind = RT_ALL_REDUCE,
                                      .rank = 1,
                                      .dim = {1},
                                      .group = {.n = 1},
                                      .source = {.is_shared = 1, .at = SENT},
                                      .result = {.at = OUT},
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
        for (int w = 0; w < 6 + can_fork; w++) {
            RtOptions o = {.workers = w, .isolate = w == 6};
            assert_int_equal(blob_run(&b, kernels, o), 0);
            assert_string_equal(said, want);
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
    for (int isolate = 0; isolate <= can_fork; isolate++) {
        RtOptions o = {.workers = 2 + isolate, .isolate = isolate};
        assert_int_equal(blob_run(&b, kernels, o), 0);
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
    b.collective[0] =
        (RtCollective){.id = 1,
                       .kind = RT_ALL_GATHER,
                       .dtype = RT_i32,
                       .rank = 1,
                       .dim = {1},
                       .group = {.n = 1},
                       .source = {.is_shared = 1, .at = SENT, .step = 4},
                       .result = {.at = OUT, .step = 8},
                       .bytes = 8};
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
    assert_int_equal(blob_run(&b, kernels, o), 0);
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
    for (int isolate = 0; isolate <= can_fork; isolate++) {
        o.isolate = isolate;
        assert_int_equal(blob_run(&b, kernels, o), 0);
        check_stats("id\tkind\tcount\tbytes\nc1\tall_reduce\t5\t20\n");
    }
    o.repeat = 3;
    assert_int_equal(blob_run(&b, kernels, o), 0);
    check_stats("id\tkind\tcount\tbytes\nc1\tall_reduce\t15\t60\n");
    assert_non_null(strstr(said, "3 runs: min "));
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
    for (int isolate = 0; isolate <= can_fork; isolate++) {
        RtOptions o = {
            .workers = 1, .isolate = isolate, .dump = path_of("out")};
        assert_int_equal(blob_run(&b, kernels, o), 0);
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
    static RtKernel *const kernels[] = {sleep_kernel};
    static TestBlob b; // a thread outlives the run
    make_loop(&b, 2, 2);
    for (int isolate = 0; isolate <= can_fork; isolate++) {
        RtOptions o = {.workers = 2, .isolate = isolate, .deadline = 0.1};
        assert_int_equal(blob_run(&b, kernels, o), RT_EXIT_TIMEOUT);
        assert_non_null(strstr(said, "waited for more than 0.1 s"));
        assert_non_null(strstr(said, "worker 0, device 0: step 2 c1 all_reduce "
                                     "waiting until all have come"));
        assert_non_null(
            strstr(said, "worker 1, device 1: step 1 kernel 0 running"));
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
    if (!can_fork)
        skip();
    assert_int_equal(blob_run(&b, kernels, o), RT_EXIT_INTERNAL);
    assert_string_equal(said, "device 2: killed by signal 9 (Killed)\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loop),
        cmocka_unit_test(test_many_barriers),
        cmocka_unit_test(test_steps_constants_nesting),
        cmocka_unit_test(test_stats_and_repeat),
        cmocka_unit_test(test_isolation),
        cmocka_unit_test(test_deadline),
        cmocka_unit_test(test_dead_device),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
