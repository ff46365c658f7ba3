// Emitted code computes what the interpreter computes.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "emit_run.h"

static void check_body(const char *params, const char *body, double bound)
{
    char text[4096];
    snprintf(text, sizeof text, "mesh\nform local\nfunc @main(%s) {\n%s}\n",
             params, body);
    check_native(text, bound);
}

static void test_add(void **state)
{
    (void)state;
    check_body(
        "%x: f32[5, 7] {class=\"input\"}, %y: f32[5, 7] {class=\"input\"}",
        "%z = add %x, %y : f32[5, 7]\n return z=%z\n", 1e-6);
}

static void test_einsum(void **state)
{
    (void)state;
    check_body(
        "%x: f32[5, 7] {class=\"input\"}, %y: f32[7, 9] {class=\"input\"}",
        "%z = einsum %x, %y {spec=\"ik,kj->ij\"} : f32[5, 9]\n"
        "return z=%z\n",
        1e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_add),
        cmocka_unit_test(test_einsum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
