// Failures of training in real partitioners, with their right numbers: each
// program is differentiated, partitioned and run on its devices, and the values
// are the ones that one can work out by hand.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "case.h"

// C11 b: tokens with losses 1, 2, 3 on one device and 9 on the other; the mean
// is that of four tokens, and each has a fourth of the gradient.
static void mean_of_tokens(void **state)
{
    (void)state;
    Case c = {0};
    const double loss[6] = {1, 2, 3, 9, 100, 100};
    const double mask[6] = {1, 1, 1, 1, 0, 0};
    case_run(&c,
             "mesh dp=2\nform global\n"
             "func @mean(%x: f32[6], %m: f32[6]) {\n"
             "  %p = multiply %x, %m : f32[6]\n"
             "  %s = reduce_sum %p {dims=[0]} : f32[]\n"
             "  %n = reduce_sum %m {dims=[0]} : f32[]\n"
             "  %l = divide %s, %n : f32[]\n"
             "  return %l\n}\n"
             "func @main(%x: f32[6@dp], %m: f32[6@dp]) {\n"
             "  %l = grad %x, %m {body=\"mean\", wrt=[0]} : f32[]\n"
             "  %g = result %l {index=1} : f32[6]\n"
             "  %s = shard %g : f32[6@dp]\n"
             "  return %l, %s\n}\n",
             (const double *const[]){loss, mask});
    for (int dev = 0; dev < 2; dev++)
        assert_near(case_result(&c, 0, dev)[0], 3.75);
    assert_values(case_result(&c, 1, 0), 3, (const double[]){.25, .25, .25});
    assert_values(case_result(&c, 1, 1), 3, (const double[]){.25, 0, 0});
    arena_free(&c.arena);
}

// C12: what is not linear comes after the sum.
static void sum_before_what_is_not_linear(void **state)
{
    (void)state;
    Case c = {0};
    static const double one[4] = {1, 2, 3, 4};
    static const double peak[4][2] = {{1, -5}, {-3, 9}, {0, 0}, {0, 0}};
    static const double half[4][2] = {{3, 0}, {3, 0}, {0, 0}, {0, 0}};
    const double *part[12];
    for (int dev = 0; dev < 4; dev++) {
        part[dev] = one + dev;
        part[4 + dev] = peak[dev];
        part[8 + dev] = half[dev];
    }
    case_run_parts(&c,
                   "mesh x=4\nform global\n"
                   "func @main(%a: f32[1]{sum: x}, %b: f32[2]{sum: x}, %v: "
                   "f32[2]{sum: x}) {\n"
                   "  %h = constant {value=0.5} : f32[1]\n"
                   "  %y = add %a, %h : f32[1]\n"
                   "  %t = neg %a : f32[1]\n"
                   "  %n = neg %t : f32[1]\n"
                   "  %m = reduce_max %b {dims=[0]} : f32[]\n"
                   "  %q = multiply %v, %v : f32[2]\n"
                   "  %s = reduce_sum %q {dims=[0]} : f32[]\n"
                   "  %r = sqrt %s : f32[]\n"
                   "  return %y, %n, %m, %r\n}\n",
                   part);
    for (int dev = 0; dev < 4; dev++) {
        assert_near(case_result(&c, 0, dev)[0], 10.5);
        assert_near(case_result(&c, 1, dev)[0], 10);
        assert_near(case_result(&c, 2, dev)[0], 4);
        assert_near(case_result(&c, 3, dev)[0], 6);
    }
    arena_free(&c.arena);
}

// The loss sum(x * g * c): dg[e] is the sum over b and s of x * c.
static void scale_of_norm(Case *c, const char *stored)
{
    double x[64], k[64];
    for (int i = 0; i < 64; i++) {
        x[i] = i % 7 - 2;
        k[i] = i % 5 + 1;
    }
    const double g[4] = {1, 2, 3, 4};
    case_run(
        c,
        arena_printf(
            &c->arena,
            "mesh tp=4\nform global\n"
            "func @loss(%%x: f32[2, 8, 4], %%k: f32[2, 8, 4], %%g: f32[4]) {\n"
            "  %%b = broadcast %%g {dims=[2]} : f32[2, 8, 4]\n"
            "  %%y = multiply %%x, %%b : f32[2, 8, 4]\n"
            "  %%z = multiply %%y, %%k : f32[2, 8, 4]\n"
            "  %%l = reduce_sum %%z {dims=[0, 1, 2]} : f32[]\n"
            "  return %%l\n}\n"
            "func @main(%%x: f32[2, 8@tp, 4], %%k: f32[2, 8@tp, 4], %%g: %s "
            "{class=\"param\"}) {\n"
            "  %%l = grad %%x, %%k, %%g {body=\"loss\", wrt=[2]} : f32[]\n"
            "  %%d = result %%l {index=1} : f32[4]\n"
            "  %%s = shard %%d : %s\n"
            "  return %%s\n}\n",
            stored, stored),
        (const double *const[]){x, k, g});
    double want[4] = {0};
    for (int i = 0; i < 64; i++)
        want[i % 4] += x[i] * k[i];
    bool is_split = strchr(stored, '@') != NULL;
    for (int dev = 0; dev < 4; dev++)
        assert_values(case_result(c, 0, dev), is_split ? 1 : 4,
                      want + (is_split ? dev : 0));
}

// C16: the gradient of a norm's scale over a split sequence is summed, once.
static void scale_under_split_sequence(void **state)
{
    (void)state;
    Case whole = {0}, split = {0};
    scale_of_norm(&whole, "f32[4]");
    assert_int_equal(case_executions(&whole, OP_all_reduce, DT_f32, 4), 1);
    scale_of_norm(&split, "f32[4@tp]");
    assert_int_equal(case_executions(&split, OP_all_reduce, DT_f32, 4), 0);
    assert_int_equal(case_executions(&split, OP_reduce_scatter, DT_f32, 1), 1);
    arena_free(&whole.arena);
    arena_free(&split.arena);
}

// C17, by a product with one-hot rows and by lookup: four tokens 1, 3, 1, 3
// all go to expert 0, and the mean over tokens has dw = 2 on any mesh.
static void expert_gradient(int n, const char *experts)
{
    Case c = {0};
    const double t[4] = {1, 3, 1, 3}, w[4] = {.5, 1, 2, 3};
    const double hot[16] = {[0] = 1, [4] = 1, [8] = 1, [12] = 1};
    const double ids[4] = {0};
    char tokens[16];
    snprintf(tokens, sizeof tokens, n > 1 ? "4@d" : "4");
    case_run(&c,
             arena_printf(
                 &c.arena,
                 "mesh d=%d\nform global\n"
                 "func @loss(%%t: f32[4], %%h: f32[4, 4], %%i: i32[4], %%w: "
                 "f32[4], %%v: f32[4]) {\n"
                 "  %%s = einsum %%h, %%w {spec=\"te,e->t\"} : f32[4]\n"
                 "  %%y = multiply %%s, %%t : f32[4]\n"
                 "  %%g = gather %%v, %%i {batch=0} : f32[4]\n"
                 "  %%z = multiply %%g, %%t : f32[4]\n"
                 "  %%a = add %%y, %%z : f32[4]\n"
                 "  %%r = reduce_sum %%a {dims=[0]} : f32[]\n"
                 "  %%q = constant {value=0.25} : f32[]\n"
                 "  %%l = multiply %%r, %%q : f32[]\n"
                 "  return %%l\n}\n"
                 "func @main(%%t: f32[%s], %%h: f32[%s, 4], %%i: i32[%s], %%w: "
                 "f32[%s], %%v: f32[%s]) {\n"
                 "  %%l = grad %%t, %%h, %%i, %%w, %%v {body=\"loss\", wrt=[3, "
                 "4]} : f32[]\n"
                 "  %%g = result %%l {index=1} : f32[4]\n"
                 "  %%k = result %%l {index=2} : f32[4]\n"
                 "  %%gw = shard %%g : f32[%s]\n"
                 "  %%gv = shard %%k : f32[%s]\n"
                 "  return %%l, %%gw, %%gv\n}\n",
                 n, tokens, tokens, tokens, experts, experts, experts, experts),
             (const double *const[]){t, hot, ids, w, w});
    int held = strchr(experts, '@') ? 4 / n : 4;
    for (int dev = 0; dev < n; dev++) {
        assert_near(case_result(&c, 0, dev)[0], 2);
        for (int r = 1; r <= 2; r++)
            for (int i = 0; i < held; i++)
                assert_near(case_result(&c, r, dev)[i],
                            i == 0 && (dev == 0 || held == 4) ? 2 : 0);
    }
    arena_free(&c.arena);
}

static void expert_gradient_on_any_mesh(void **state)
{
    (void)state;
    expert_gradient(1, "4");
    expert_gradient(2, "4");
    expert_gradient(2, "4@d");
    expert_gradient(4, "4");
    expert_gradient(4, "4@d");
}

// C18: a gradient on all devices and one on each of two: every element once.
static void norm_of_gradients(void **state)
{
    (void)state;
    Case c = {0};
    const double one[1] = {1}, two[2] = {1, 1};
    const double dense[1] = {3}, expert[2] = {4, 12};
    case_run(
        &c,
        "mesh m=2\nform global\n"
        "func @loss(%a: f32[1], %e: f32[2], %ca: f32[1], %ce: f32[2]) {\n"
        "  %p = multiply %a, %ca : f32[1]\n"
        "  %q = multiply %e, %ce : f32[2]\n"
        "  %r = reduce_sum %p {dims=[0]} : f32[]\n"
        "  %s = reduce_sum %q {dims=[0]} : f32[]\n"
        "  %l = add %r, %s : f32[]\n"
        "  return %l\n}\n"
        "func @main(%a: f32[1] {class=\"param\"}, %e: f32[2@m] "
        "{class=\"param\"}, %ca: f32[1], %ce: f32[2@m]) {\n"
        "  %l = grad %a, %e, %ca, %ce {body=\"loss\", wrt=[0, 1]} : f32[]\n"
        "  %ga = result %l {index=1} : f32[1]\n"
        "  %ge = result %l {index=2} : f32[2]\n"
        "  %qa = multiply %ga, %ga : f32[1]\n"
        "  %qe = multiply %ge, %ge : f32[2]\n"
        "  %sa = reduce_sum %qa {dims=[0]} : f32[]\n"
        "  %se = reduce_sum %qe {dims=[0]} : f32[]\n"
        "  %s = add %sa, %se : f32[]\n"
        "  %n = sqrt %s : f32[]\n"
        "  return %n\n}\n",
        (const double *const[]){one, two, dense, expert});
    for (int dev = 0; dev < 2; dev++)
        assert_near(case_result(&c, 0, dev)[0], 13);
    arena_free(&c.arena);
}

// C19 a: a weight that is used in bf16; its gradient is 256 + 1 + 1 + 1.
static double narrow_gradient(const char *reduce, DType collective)
{
    Case c = {0};
    const double x[4] = {256, 1, 1, 1}, w[1] = {1};
    case_run(
        &c,
        arena_printf(
            &c.arena,
            "mesh dp=4\nform global\n"
            "func @loss(%%x: bf16[4, 1], %%w: f32[1]) {\n"
            "  %%n = convert %%w : bf16[1]\n"
            "  %%y = einsum %%x, %%n {spec=\"be,e->b\"} : bf16[4]\n"
            "  %%z = convert %%y : f32[4]\n"
            "  %%l = reduce_sum %%z {dims=[0]} : f32[]\n"
            "  return %%l\n}\n"
            "func @main(%%x: bf16[4@dp, 1], %%w: f32[1] {class=\"param\"}) {\n"
            "  %%l = grad %%x, %%w {body=\"loss\", wrt=[1], reduce=\"%s\"} : "
            "f32[]\n"
            "  %%g = result %%l {index=1} : f32[1]\n"
            "  %%s = shard %%g : f32[1]\n"
            "  return %%s\n}\n",
            reduce),
        (const double *const[]){x, w});
    assert_int_equal(case_executions(&c, OP_all_reduce, collective, 1), 1);
    double got = case_result(&c, 0, 0)[0];
    for (int dev = 1; dev < 4; dev++)
        assert_near(case_result(&c, 0, dev)[0], got);
    arena_free(&c.arena);
    return got;
}

static void dtype_of_gradient(void **state)
{
    (void)state;
    assert_near(narrow_gradient("f32", DT_f32), 259);
    // Rounded once, to even: 258 and 260 are neighbours in bf16.
    assert_near(narrow_gradient("bf16", DT_bf16), 260);
}

// C19 b: a value that is wanted whole in bf16 is gathered in bf16.
static void dtype_of_gather(void **state)
{
    (void)state;
    Case c = {0};
    double k[32];
    for (int i = 0; i < 32; i++)
        k[i] = i;
    case_run(&c,
             "mesh cp=8\nform global\n"
             "func @main(%k: f32[2, 16@cp]) {\n"
             "  %b = convert %k : bf16[2, 16]\n"
             "  %w = shard %b : bf16[2, 16]\n"
             "  return %w\n}\n",
             (const double *const[]){k});
    assert_int_equal(case_executions(&c, OP_all_gather, DT_bf16, 32), 1);
    assert_int_equal(case_executions(&c, OP_all_gather, DT_f32, 32), 0);
    for (int dev = 0; dev < 8; dev++)
        assert_values(case_result(&c, 0, dev), 32, k);
    arena_free(&c.arena);
}

// C20: replicated logits into a loss over a split vocabulary are cut, not
// relabelled: the loss is not larger by log 2, and the gradient is softmax
// less one at the label.
static void replicated_into_split(void **state)
{
    (void)state;
    Case c = {0};
    const double logits[4] = {2, 1, 0, -1}, label[4] = {1, 0, 0, 0};
    case_run(&c,
             "mesh tp=2\nform global\n"
             "func @loss(%x: f32[4], %h: f32[4]) {\n"
             "  %v = shard %x : f32[4@tp]\n"
             "  %e = exp %v : f32[4]\n"
             "  %s = reduce_sum %e {dims=[0]} : f32[]\n"
             "  %n = log %s : f32[]\n"
             "  %p = multiply %v, %h : f32[4]\n"
             "  %t = reduce_sum %p {dims=[0]} : f32[]\n"
             "  %l = subtract %n, %t : f32[]\n"
             "  return %l\n}\n"
             "func @main(%x: f32[4], %h: f32[4@tp]) {\n"
             "  %l = grad %x, %h {body=\"loss\", wrt=[0]} : f32[]\n"
             "  %g = result %l {index=1} : f32[4]\n"
             "  %w = shard %g : f32[4]\n"
             "  return %l, %w\n}\n",
             (const double *const[]){logits, label});
    double sum = 0, want[4];
    for (int i = 0; i < 4; i++)
        sum += exp(logits[i]);
    for (int i = 0; i < 4; i++)
        want[i] = exp(logits[i]) / sum - label[i];
    for (int dev = 0; dev < 2; dev++) {
        assert_true(fabs(case_result(&c, 0, dev)[0] - 0.440190) < 1e-6);
        assert_values(case_result(&c, 1, dev), 4, want);
    }
    arena_free(&c.arena);
}

// C21: the gradients of four micro-batches are added up; of rows r of batch k
// the weight's gradient is their sum, and is never made whole on a device.
static void accumulated_gradient(void **state)
{
    (void)state;
    Case c = {0};
    double x[4 * 8 * 4], want[4] = {0};
    const double w[4] = {1, 2, 3, 4};
    for (int i = 0; i < 128; i++) {
        x[i] = i % 11 + i / 32;
        want[i % 4] += x[i];
    }
    case_run(
        &c,
        "mesh replica=2 shard=2\nform global\n"
        "func @loss(%x: f32[8, 4], %w: f32[4]) {\n"
        "  %y = einsum %x, %w {spec=\"be,e->b\"} : f32[8]\n"
        "  %l = reduce_sum %y {dims=[0]} : f32[]\n"
        "  return %l\n}\n"
        "func @micro(%sum: f32[4@shard], %w: f32[4@shard], %x: f32[8, 4]) {\n"
        "  %l = grad %x, %w {body=\"loss\", wrt=[1]} : f32[]\n"
        "  %g = result %l {index=1} : f32[4]\n"
        "  %s = add %sum, %g : f32[4]\n"
        "  return %s\n}\n"
        "func @main(%w: f32[4@shard] {class=\"param\"}, %x: f32[4, "
        "8@(replica,shard), 4]) {\n"
        "  %z = constant {value=0} : f32[4]\n"
        "  %s = scan %z, %w, %x {body=\"micro\", trip=4, carry=1, stacked=1} : "
        "f32[4]\n"
        "  %r = shard %s : f32[4@shard]\n"
        "  return %r\n}\n",
        (const double *const[]){w, x});
    for (int dev = 0; dev < 4; dev++)
        assert_values(case_result(&c, 0, dev), 2, want + dev % 2 * 2);
    // Scattered in each turn or once; only the pieces are summed over replicas.
    int64_t scattered = case_executions(&c, OP_reduce_scatter, DT_f32, 2);
    int64_t summed = case_executions(&c, OP_all_reduce, DT_f32, 2);
    assert_true(scattered == 1 || scattered == 4);
    assert_true(summed == 1 || summed == 4);
    assert_int_equal(case_executions(&c, OP_all_reduce, DT_f32, 4), 0);
    arena_free(&c.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mean_of_tokens),
        cmocka_unit_test(sum_before_what_is_not_linear),
        cmocka_unit_test(scale_under_split_sequence),
        cmocka_unit_test(expert_gradient_on_any_mesh),
        cmocka_unit_test(norm_of_gradients),
        cmocka_unit_test(dtype_of_gradient),
        cmocka_unit_test(dtype_of_gather),
        cmocka_unit_test(replicated_into_split),
        cmocka_unit_test(accumulated_gradient),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
