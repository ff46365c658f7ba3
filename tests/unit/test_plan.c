// Plans: views compose, values that are needed at once lie apart, and what is
// printed.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "emit/value.h"

static unsigned seed = 7;

static int pick(int n)
{
    seed = seed * 1664525 + 1013904223;
    return (int)(seed >> 8) % n;
}

// The element that a view shows at a point, loops counted row major.
static int64_t element(const View *v, int64_t point)
{
    int64_t at = v->at;
    for (int i = v->rank - 1; i >= 0; i--) {
        at += point % v->dim[i].size * v->dim[i].stride;
        point /= v->dim[i].size;
    }
    return at;
}

static int64_t points(const View *v)
{
    int64_t n = 1;
    for (int i = 0; i < v->rank; i++)
        n *= v->dim[i].size;
    return n;
}

// A view of a row-major tensor of n elements: its dimensions in any order,
// cut, or repeated.
static View random_view(int64_t n, Type *shape)
{
    View v = {0};
    int64_t stride[MAX_RANK];
    *shape = (Type){.rank = 0};
    while (n > 1 && shape->rank < 4) {
        int64_t d = 1 + pick(4);
        if (n % d == 0) {
            shape->dim[shape->rank++] = d;
            n /= d;
        }
    }
    shape->dim[shape->rank++] = n;
    row_major(shape, stride);
    for (int used = 0; used != (1 << shape->rank) - 1;) {
        int i = pick(shape->rank);
        if (used >> i & 1)
            continue;
        used |= 1 << i;
        int64_t from = pick((int)shape->dim[i]);
        view_add_loop(&v, shape->dim[i] - from, stride[i]);
        v.at += from * stride[i];
        if (pick(4) == 0)
            view_add_loop(&v, 2, 0);
    }
    return v;
}

static void test_compose(void **state)
{
    int composed = 0;
    (void)state;
    for (int i = 0; i < 20000; i++) {
        Type shape;
        View both;
        View inner = random_view(1 << (3 + pick(4)), &shape);
        View outer = random_view(points(&inner), &shape);
        if (!view_compose(&outer, &inner, &both))
            continue;
        composed++;
        for (int64_t k = 0; k < points(&outer); k++)
            assert_int_equal(element(&both, k),
                             element(&inner, element(&outer, k)));
    }
    assert_true(composed > 5000);
}

static void test_reshape_composes(void **state)
{
    (void)state;
    View both;
    Type in = {.rank = 3, .dim = {4, 6, 5}}, out = {.rank = 2, .dim = {24, 5}};
    View a = view_identity(&in), b = view_identity(&out);
    assert_true(view_compose(&b, &a, &both));
    assert_true(view_equal(&both, &b) && view_is_identity(&both));
    View turned = {0};
    view_add_loop(&turned, 5, 1);
    view_add_loop(&turned, 24, 5);
    Type flat = {.rank = 1, .dim = {120}};
    View line = view_identity(&flat);
    assert_false(view_compose(&line, &turned, &both));
}

static const char model[] =
    "mesh x=2\n"
    "form local\n"
    "func @layer(%x: f32[8, 16], %w: f32[8, 16], %n: f32[16]) {\n"
    "%a = all_gather %w {axes=x, concat_dim=0, id=1} : f32[16, 16]\n"
    "%t = tanh %x : f32[8, 16]\n"
    "%b = einsum %t, %a {spec=\"se,ef->sf\"} : f32[8, 16]\n"
    "%m = broadcast %n {dims=[1]} : f32[8, 16]\n"
    "%c = multiply %b, %m : f32[8, 16]\n"
    "%y = add %x, %c : f32[8, 16]\n"
    "return %y\n}\n"
    "func @main(%x: f32[8, 16] {class=\"input\"}, "
    "%w: f32[3, 8, 16] {class=\"param\"}, %n: f32[3, 16] {class=\"param\"}) {\n"
    "%e = exp %x : f32[8, 16]\n"
    "%y = scan %e, %w, %n {body=\"layer\", trip=3, carry=1, stacked=2} : "
    "f32[8, 16]\n"
    "%s = reduce_sum %y {dims=[0, 1]} : f32[]\n"
    "%l = all_reduce %s {axes=x, combine=\"sum\", id=2} : f32[]\n"
    "return loss=%l, y=%y\n}\n";

static Plan *plan_text(Arena *a, const char *text)
{
    Diag d = {.out = stderr};
    Source source = {"test", text};
    Module *m = module_parse(a, &source, &d);
    assert_non_null(m);
    assert_true(module_verify(m, &d));
    return plan_module(a, m, NULL);
}

static bool collide(const Buffer *a, const Buffer *b)
{
    return a->is_shared == b->is_shared && a->first <= b->last &&
           b->first <= a->last && a->at < b->at + b->bytes &&
           b->at < a->at + a->bytes;
}

static void test_places(void **state)
{
    (void)state;
    Arena a = {0};
    Plan *p = plan_text(&a, model);
    for (int i = 0; i < p->buffers.n; i++)
        for (int k = 0; k < i; k++) {
            const Buffer *x = p->buffers.at[i], *y = p->buffers.at[k];
            assert_true(x->alias || y->alias || !collide(x, y));
        }
    for (int i = 0; i < p->transfers.n; i++)
        assert_true(p->transfers.at[i]->source->is_shared);
    arena_free(&a);
}

static void test_print(void **state)
{
    (void)state;
    Arena a = {0};
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    Plan *p = plan_text(&a, model);
    plan_print(p, f);
    fclose(f);
    const char want[] =
        "steps\n"
        "  k0 e <- x  2 ops\n"
        "  loop 3 times\n"
        "    c1 all_gather layer.a <- w\n"
        "    k1 layer.t <- e  2 ops\n"
        "    k2 layer.y <- e, n, layer.t, layer.a  einsum se,ef->sf  5 ops"
        "  scratch 2816\n"
        "  k3 s <- e  2 ops\n"
        "  c2 all_reduce l <- s\n"
        "buffers\n";
    assert_int_equal(strncmp(text, want, strlen(want)), 0);
    free(text);
    f = open_memstream(&text, &size);
    plan_print_memory(p, f);
    fclose(f);
    assert_non_null(strstr(text, "class\tbytes\nparameters\t1728\noptimizer\t0\n"
                          "gradients\t0\n"
                                 "inputs\t512\noutputs\t516\n"));
    assert_non_null(strstr(text, "\npeak\t"));
    free(text);
    arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compose),
        cmocka_unit_test(test_reshape_composes),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_print),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
