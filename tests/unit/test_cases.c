// Layout failures of real partitioners, with their right numbers: each program
// is partitioned and run on its devices, and the values are the ones that one
// can work out by hand.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "case.h"

static double *counting(Arena *a, int n)
{
    double *x = arena_new(a, double, (size_t)n);
    for (int i = 0; i < n; i++)
        x[i] = i;
    return x;
}

static int64_t largest_local(const Case *c)
{
    int64_t most = 0;
    for_each_op (op, module_entry(c->local))
        if (type_bytes(&op->type) > most)
            most = type_bytes(&op->type);
    return most;
}

// C01: the piece of device (x, y) is number 2x + y of dimension 1, and no
// device ever holds more than 2,048 bytes of the 16,384.
static void no_full_copy(void **state)
{
    (void)state;
    Case c = {0};
    double *d = counting(&c.arena, 16 * 16 * 16);
    double *zero = arena_new(&c.arena, double, 16 * 16 * 16);
    case_run(&c,
             "mesh x=4 y=2\nform global\n"
             "func @main(%d: f32[16@y, 16, 16@x], %c: f32[16, 16@(x,y), 16]) {\n"
             "  %e = shard %d : f32[16, 16@(x,y), 16]\n"
             "  %r = add %e, %c : f32[16, 16, 16]\n"
             "  return %r\n}\n",
             (const double *const[]){d, zero});
    for (int dev = 0; dev < 8; dev++) {
        assert_near(case_result(&c, 0, dev)[0], 16.0 * 2 * dev);
        assert_near(case_result(&c, 0, dev)[16], 16.0 * (2 * dev + 1));
        assert_near(case_result(&c, 0, dev)[32], 256 + 16.0 * 2 * dev);
    }
    assert_int_equal(largest_local(&c), 2048);
    arena_free(&c.arena);
}

// C02 d: a pending sum is reduced once, though its value is used split and
// whole.
static void reduced_once(void **state)
{
    (void)state;
    Case c = {0};
    double *x = counting(&c.arena, 8 * 6);
    case_run(&c,
             "mesh dp=2 cp=2\nform global\n"
             "func @main(%x: f32[8, 6]{sum: cp}) {\n"
             "  %t = transpose %x {dims=[1, 0]} : f32[6, 8]\n"
             "  %s = shard %t : f32[6@dp, 8]\n"
             "  %w = shard %s : f32[6, 8]\n"
             "  return %w\n}\n",
             (const double *const[]){x});
    for (int dev = 0; dev < 4; dev++)
        for (int i = 0; i < 6; i++)
            for (int k = 0; k < 8; k++)
                assert_near(case_result(&c, 0, dev)[i * 8 + k], k * 6 + i);
    arena_free(&c.arena);
}

// C04: device 0 holds the flat rows 0, 1, 4, 5.
static void flatten_over_a_split(void **state)
{
    (void)state;
    Case c = {0};
    double *a = counting(&c.arena, 24);
    case_run(&c,
             "mesh x=2\nform global\n"
             "func @main(%a: f32[2, 4@x, 3]) {\n"
             "  %f = reshape %a : f32[8, 3]\n"
             "  %n = neg %f : f32[8, 3]\n"
             "  return %n\n}\n",
             (const double *const[]){a});
    const double row[2][4] = {{0, 1, 4, 5}, {2, 3, 6, 7}};
    for (int dev = 0; dev < 2; dev++)
        for (int i = 0; i < 4; i++)
            assert_near(case_result(&c, 0, dev)[3 * i], -3 * row[dev][i]);
    arena_free(&c.arena);
}

// C06: ones stay ones.
static void concat_of_ones(void **state)
{
    (void)state;
    Case c = {0};
    double ones[16], twos[12];
    for (int i = 0; i < 16; i++)
        ones[i] = 1;
    for (int i = 0; i < 12; i++)
        twos[i] = i + 2;
    case_run(&c,
             "mesh data=4 model=2\nform global\n"
             "func @main(%a: f32[4@data], %b: f32[12@data], %c: f32[2], %d: f32[10@model]) {\n"
             "  %x = concat %a, %b {dim=0} : f32[16]\n"
             "  %y = concat %c, %d {dim=0} : f32[12]\n"
             "  %z = concat %a, %b {dim=0} : f32[16]\n"
             "  %s = shard %z : f32[16@data]\n"
             "  return %x, %y, %s\n}\n",
             (const double *const[]){ones, ones, ones, twos});
    const double y[12] = {1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    for (int dev = 0; dev < 8; dev++) {
        assert_values(case_result(&c, 0, dev), 16, ones);
        assert_values(case_result(&c, 1, dev), 12, y);
        assert_values(case_result(&c, 2, dev), 4, ones);
    }
    arena_free(&c.arena);
}

// C11 a: the mean of 3 rows on 2 devices counts no padding.
static void mean_of_uneven_rows(void **state)
{
    (void)state;
    Case c = {.uneven_pad = true};
    case_run(&c,
             "mesh x=2\nform global\n"
             "func @main(%a: f32[3@x, 4]) {\n"
             "  %c = constant {value=1} : f32[3, 4]\n"
             "  %b = add %a, %c : f32[3, 4]\n"
             "  %s = reduce_sum %b {dims=[0, 1]} : f32[]\n"
             "  %n = constant {value=12} : f32[]\n"
             "  %m = divide %s, %n : f32[]\n"
             "  return %m\n}\n",
             (const double *const[]){counting(&c.arena, 12)});
    assert_near(case_result(&c, 0, 0)[0], 6.5);
    assert_near(case_result(&c, 0, 1)[0], 6.5);
    arena_free(&c.arena);
}

// C13: along the split dimension and along the other one.
static void cumsum_of_ones(void **state)
{
    (void)state;
    Case c = {0};
    double ones[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    case_run(&c,
             "mesh x=4\nform global\n"
             "func @main(%a: i32[8@x], %b: f32[4@x, 2]) {\n"
             "  %c = cumsum %a {dim=0} : i32[8]\n"
             "  %r = shard %c : i32[8@x]\n"
             "  %d = cumsum %b {dim=1} : f32[4, 2]\n"
             "  %s = shard %d : f32[4@x, 2]\n"
             "  return %r, %s\n}\n",
             (const double *const[]){ones, ones});
    for (int dev = 0; dev < 4; dev++) {
        assert_values(case_result(&c, 0, dev), 2,
                      (const double[]){2 * dev + 1, 2 * dev + 2});
        assert_values(case_result(&c, 1, dev), 2, (const double[]){1, 2});
    }
    arena_free(&c.arena);
}

// C15: each device looks up its own rows; the sum is the row.
static void embedding(void **state)
{
    (void)state;
    Case c = {0};
    double *table = counting(&c.arena, 64 * 16);
    const double ids[8] = {0, 63, 17, 16, 15, 48, 31, 32};
    case_run(&c,
             "mesh data=2 tensor=4\nform global\n"
             "func @main(%t: f32[64@tensor, 16], %ids: i32[8@data]) {\n"
             "  %g = gather %t, %ids {batch=0} : f32[8, 16]\n"
             "  %r = shard %g : f32[8@data, 16]\n"
             "  return %r\n}\n",
             (const double *const[]){table, ids});
    for (int dev = 0; dev < 8; dev++)
        for (int i = 0; i < 4; i++)
            assert_near(case_result(&c, 0, dev)[i * 16 + 3],
                               ids[dev / 4 * 4 + i] * 16 + 3);
    arena_free(&c.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_full_copy),
        cmocka_unit_test(reduced_once),
        cmocka_unit_test(flatten_over_a_split),
        cmocka_unit_test(concat_of_ones),
        cmocka_unit_test(mean_of_uneven_rows),
        cmocka_unit_test(cumsum_of_ones),
        cmocka_unit_test(embedding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
