// Every op at every element type and at odd sizes, none and one among them:
// emitted code computes what the interpreter computes, and types that an op
// does not take are refused.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "emit_run.h"

// In a text, T is the element type, A B C are sizes, D = A + B, P = A * B, and
// E = 2 * A. Names are lower case.
typedef struct Case {
    const char *types;  // that it takes: f32, i32, bf16 (h), bool
    const char *params; //
    const char *body;
    const char *results;
} Case;

static const char types[] = "fhib";
static const char *const type_name[] = {"f32", "bf16", "i32", "bool"};
static const double bound[] = {2e-6, 2e-2, 0, 0};

static const int sizes[][3] = {{1, 1, 1},  {1, 7, 3},  {5, 1, 19}, {4, 17, 1},
                               {4, 1, 16}, {9, 33, 2}, {0, 3, 5},  {3, 0, 5},
                               {3, 5, 0},  {0, 0, 0}};

enum {
    NSIZE = sizeof sizes / sizeof *sizes,
    TEXT = 8192,
};

static void fill_in(const char *s, int type, const int size[3], char *text)
{
    size_t n = strlen(text);
    const int number[] = {['A'] = size[0],     ['B'] = size[1],
                          ['C'] = size[2],     ['D'] = size[0] + size[1],
                          ['E'] = 2 * size[0], ['P'] = size[0] * size[1]};
    for (; *s; s++) {
        if (*s == 'T')
            n += (size_t)snprintf(text + n, TEXT - n, "%s", type_name[type]);
        else if (*s >= 'A' && *s <= 'P')
            n += (size_t)snprintf(text + n, TEXT - n, "%d", number[(int)*s]);
        else
            n += (size_t)snprintf(text + n, TEXT - n, "%c", *s);
    }
}

static bool is_accepted(const char *text)
{
    Arena a = {0};
    Diag d = {.out = fopen("/dev/null", "w")};
    Source source = {"test", text};
    assert_non_null(d.out);
    const Module *m = module_parse(&a, &source, &d);
    bool ok = m && module_verify(m, &d);
    fclose(d.out);
    arena_free(&a);
    return ok;
}

static void check_case(const Case *c, const char *mesh, const char *more)
{
    for (int t = 0; t < 4; t++)
        for (int s = 0; s < NSIZE; s++) {
            char text[TEXT] = "";
            snprintf(text, sizeof text, "mesh %s\nform local\n", mesh);
            fill_in(more, t, sizes[s], text);
            fill_in("func @main(", t, sizes[s], text);
            fill_in(c->params, t, sizes[s], text);
            fill_in(") {\n", t, sizes[s], text);
            fill_in(c->body, t, sizes[s], text);
            fill_in("return ", t, sizes[s], text);
            fill_in(c->results, t, sizes[s], text);
            fill_in("\n}\n", t, sizes[s], text);
            bool takes = strchr(c->types, types[t]) != NULL;
            if (is_accepted(text) != takes)
                fail_msg("%s: %s", takes ? "refused" : "accepted", text);
            if (takes)
                check_native(text, bound[t]);
        }
}

#define INPUT " {class=\"input\"}"
#define X     "%x: T[A, B]" INPUT
#define XY    X ", %y: T[A, B]" INPUT

static const Case pointwise[] = {
    {"fhi", X,
     "%a = neg %x : T[A, B]\n"
     "%b = abs %x : T[A, B]\n",
     "a=%a, b=%b"},
    {"fh", X,
     "%a = exp %x : T[A, B]\n"
     "%b = log %x : T[A, B]\n"
     "%c = sqrt %x : T[A, B]\n"
     "%d = rsqrt %x : T[A, B]\n"
     "%e = sin %x : T[A, B]\n"
     "%f = cos %x : T[A, B]\n"
     "%g = tanh %x : T[A, B]\n"
     "%h = logistic %x : T[A, B]\n",
     "a=%a, b=%b, c=%c, d=%d, e=%e, f=%f, g=%g, h=%h"},
    {"fh", X, "%a = floor %x : T[A, B]\n%b = ceil %x : T[A, B]\n",
     "a=%a, b=%b"},
    {"b", XY,
     "%a = not %x : T[A, B]\n"
     "%b = and %x, %y : T[A, B]\n"
     "%c = or %x, %y : T[A, B]\n",
     "a=%a, b=%b, c=%c"},
    {"fhib", X,
     "%a = convert %x : f32[A, B]\n"
     "%b = convert %x : bf16[A, B]\n"
     "%c = convert %x : i32[A, B]\n"
     "%d = convert %x : bool[A, B]\n",
     "a=%a, b=%b, c=%c, d=%d"},
    {"fhi", XY,
     "%a = add %x, %y : T[A, B]\n"
     "%b = subtract %x, %y : T[A, B]\n"
     "%c = multiply %x, %y : T[A, B]\n"
     "%d = divide %x, %y : T[A, B]\n"
     "%e = maximum %x, %y : T[A, B]\n"
     "%f = minimum %x, %y : T[A, B]\n",
     "a=%a, b=%b, c=%c, d=%d, e=%e, f=%f"},
    {"fh", XY, "%a = power %x, %y : T[A, B]\n", "a=%a"},
    {"fhib", XY ", %p: bool[A, B]" INPUT,
     "%a = compare %x, %y {dir=\"eq\"} : bool[A, B]\n"
     "%b = compare %x, %y {dir=\"ne\"} : bool[A, B]\n"
     "%c = compare %x, %y {dir=\"lt\"} : bool[A, B]\n"
     "%d = compare %x, %y {dir=\"le\"} : bool[A, B]\n"
     "%e = compare %x, %y {dir=\"gt\"} : bool[A, B]\n"
     "%f = compare %x, %y {dir=\"ge\"} : bool[A, B]\n"
     "%g = select %p, %x, %y : T[A, B]\n",
     "a=%a, b=%b, c=%c, d=%d, e=%e, f=%f, g=%g"},
    {"fhib", X,
     "%a = constant {value=1} : T[A, B]\n"
     "%b = constant {value=[1, 0, 3]} : T[3]\n"
     "%c = mask %x {dim=1, size=2, offset=(), value=1} : T[A, B]\n"
     "%d = mask %a {dim=0, size=3, offset=(), value=0} : T[A, B]\n",
     "a=%a, b=%b, c=%c, d=%d, x=%x"},
    // Numbers that the type does not have.
    {"fhib", X,
     "%a = constant {value=2} : T[A, B]\n"
     "%b = constant {value=[2, -2.5, 0]} : T[3]\n"
     "%c = mask %x {dim=1, size=2, offset=(), value=-inf} : T[A, B]\n"
     "%d = mask %x {dim=0, size=2, offset=(), value=inf} : T[A, B]\n",
     "a=%a, b=%b, c=%c, d=%d"},
    // Integers wrap around, converted floats do not.
    {"fhi", X ", %y: T[B, C]" INPUT,
     "%k = constant {value=70001} : T[A, B]\n"
     "%a = multiply %x, %k : T[A, B]\n"
     "%b = multiply %a, %k : T[A, B]\n"
     "%c = einsum %b, %y {spec=\"ab,bc->ac\"} : T[A, C]\n"
     "%d = einsum %b, %k {spec=\"ab,ab->b\"} : T[B]\n"
     "%e = reduce_sum %b {dims=[1]} : T[A]\n"
     "%f = cumsum %b {dim=1} : T[A, B]\n"
     "%g = constant {value=3e9} : f32[A, B]\n"
     "%h = convert %g : T[A, B]\n"
     "%n = neg %g : f32[A, B]\n"
     "%o = convert %n : T[A, B]\n",
     "b=%b, c=%c, d=%d, e=%e, f=%f, h=%h, o=%o"},
    // Indexes that do not change evenly.
    {"fhi", X ", %y: T[P]" INPUT,
     "%i = iota {dim=1} : T[A, B]\n"
     "%a = reshape %i : T[P]\n"
     "%b = add %a, %y : T[P]\n"
     "%t = transpose %i {dims=[1, 0]} : T[B, A]\n"
     "%c = reshape %t : T[P]\n"
     "%d = neg %c : T[P]\n"
     "%e = reduce_sum %a {dims=[0]} : T[]\n"
     "%f = einsum %c, %y {spec=\"p,p->\"} : T[]\n",
     "a=%a, b=%b, c=%c, d=%d, e=%e, f=%f"},
    {"fhi", X,
     "%i = iota {dim=0} : T[A, B]\n"
     "%j = iota {dim=1} : T[A, B]\n"
     "%a = add %i, %x : T[A, B]\n"
     "%b = add %a, %j : T[A, B]\n",
     "i=%i, j=%j, b=%b"},
};

#define PRODUCT(spec, a, b, out)                                               \
    {                                                                          \
        "fhi", "%x: T[" a "]" INPUT ", %y: T[" b "]" INPUT,                    \
            "%a = einsum %x, %y {spec=\"" spec "\"} : T[" out "]\n"            \
            "%n = neg %a : T[" out "]\n"                                       \
            "%b = maximum %a, %n : T[" out "]\n",                              \
            "a=%a, b=%b"                                                       \
    }

static const Case products[] = {
    PRODUCT("ac,cb->ab", "A, C", "C, B", "A, B"),
    PRODUCT("ca,bc->ab", "C, A", "B, C", "A, B"),
    PRODUCT("ac,bc->ba", "A, C", "B, C", "B, A"),
    PRODUCT("ab,bc->abc", "A, B", "B, C", "A, B, C"),
    PRODUCT("abc,abc->a", "A, B, C", "A, B, C", "A"),
    PRODUCT("ab,ab->", "A, B", "A, B", ""),
    PRODUCT("ab,c->c", "A, B", "C", "C"),
    PRODUCT("a,b->ab", "A", "B", "A, B"),
    PRODUCT("abc,acbd->adb", "A, B, C", "A, C, B, 3", "A, 3, B"),
    PRODUCT("abcd,bcda->", "A, B, C, 2", "B, C, 2, A", ""),
    PRODUCT("sabc,tbc->sta", "4, A, B, C", "5, B, C", "4, 5, A"),
    PRODUCT("stab,uab->stu", "4, 2, A, B", "5, A, B", "4, 2, 5"),
    // What is not rounded, alone and at the end of a nest.
    {"fh", "%x: T[A, C]" INPUT ", %y: T[C, B]" INPUT ", %z: f32[A, B]" INPUT,
     "%a = einsum %x, %y {spec=\"ac,cb->ab\", dtype=\"f32\"} : f32[A, B]\n"
     "%b = add %a, %z : f32[A, B]\n"
     "%c = einsum %x, %y {spec=\"ac,cb->ba\", dtype=\"f32\"} : f32[B, A]\n"
     "%d = convert %c : bf16[B, A]\n"
     "%e = einsum %x, %y {spec=\"ac,cb->a\", dtype=\"f32\"} : f32[A]\n",
     "a=%a, b=%b, d=%d, e=%e"},
    // Operands that are computed, and views.
    {"fhi", "%x: T[C, A]" INPUT ", %y: T[C, B]" INPUT,
     "%i = iota {dim=0} : T[C, B]\n"
     "%s = add %i, %y : T[C, B]\n"
     "%t = transpose %x {dims=[1, 0]} : T[A, C]\n"
     "%n = neg %t : T[A, C]\n"
     "%a = einsum %n, %s {spec=\"ac,cb->ab\"} : T[A, B]\n"
     "%b = einsum %t, %i {spec=\"ac,cb->ab\"} : T[A, B]\n"
     "%c = add %a, %b : T[A, B]\n"
     "%r = reshape %c : T[P]\n"
     "%d = reduce_sum %r {dims=[0]} : T[]\n",
     "c=%c, d=%d"},
};

#define REDUCE(dims, out)                                                      \
    {                                                                          \
        "fhi", "%x: T[A, B, C]" INPUT,                                         \
            "%a = reduce_sum %x {dims=" dims "} : T" out "\n"                  \
            "%b = reduce_max %x {dims=" dims "} : T" out "\n"                  \
            "%c = reduce_min %x {dims=" dims "} : T" out "\n",                 \
            "a=%a, b=%b, c=%c"                                                 \
    }

static const Case reductions[] = {
    REDUCE("[0]", "[B, C]"),
    REDUCE("[1]", "[A, C]"),
    REDUCE("[2]", "[A, B]"),
    REDUCE("[0, 2]", "[B]"),
    REDUCE("[0, 1, 2]", "[]"),
    REDUCE("[]", "[A, B, C]"),
    {"fhi", "%x: T[A, B, C]" INPUT,
     "%a = cumsum %x {dim=0} : T[A, B, C]\n"
     "%b = cumsum %x {dim=1} : T[A, B, C]\n"
     "%c = cumsum %x {dim=2} : T[A, B, C]\n",
     "a=%a, b=%b, c=%c"},
};

static const Case moves[] = {
    {"fhib", "%x: T[A, B, C]" INPUT,
     "%a = transpose %x {dims=[2, 0, 1]} : T[C, A, B]\n"
     "%b = reshape %x : T[P, C]\n"
     "%c = transpose %b {dims=[1, 0]} : T[C, P]\n"
     "%d = reshape %c : T[C, 1, P]\n"
     "%e = broadcast %x {dims=[0, 1, 3]} : T[A, B, 2, C]\n"
     "%f = slice %e {starts=[0, 0, 1, 0], limits=[A, B, 2, C]} : "
     "T[A, B, 1, C]\n"
     "%g = slice %e {starts=[A, 0, 0, 0], limits=[A, B, 2, C]} : "
     "T[0, B, 2, C]\n",
     "a=%a, b=%b, c=%c, d=%d, e=%e, f=%f, g=%g, x=%x"},
    {"fhib", "%x: T[A, C]" INPUT ", %y: T[B, C]" INPUT,
     "%a = concat %x, %y {dim=0} : T[D, C]\n"
     "%b = pad %x {dim=0, high=B} : T[D, C]\n"
     "%c = concat %x {dim=1} : T[A, C]\n"
     "%d = concat %x, %x {dim=0} : T[E, C]\n"
     "%e = pad %y {dim=1, high=0} : T[B, C]\n",
     "a=%a, b=%b, c=%c, d=%d, e=%e"},
    {"fhib",
     "%x: T[A, C]" INPUT ", %i: i32[B]" INPUT ", %y: T[A, B, C]" INPUT
     ", %j: i32[A, 2]" INPUT,
     "%a = gather %x, %i {batch=0} : T[B, C]\n"
     "%b = gather %y, %j {batch=1} : T[A, 2, C]\n"
     "%c = gather %y, %i {batch=0} : T[B, B, C]\n",
     "a=%a, b=%b, c=%c"},
    {"fh", "%x: T[A, B, 6]" INPUT,
     "%a = route %x {k=2, groups=0, top_groups=0, group_score=\"max\"} : "
     "i32[A, B, 2]\n"
     "%b = route %x {k=2, groups=3, top_groups=2, group_score=\"top2\"} : "
     "i32[A, B, 2]\n",
     "a=%a, b=%b"},
    {"fh",
     "%q: T[2, A, 3, C]" INPUT ", %k: T[2, B, 3, C]" INPUT
     ", %v: T[2, B, 3, 5]" INPUT ", %s: i32[2, A]" INPUT
     ", %t: i32[2, B]" INPUT,
     "%a = attention %q, %k, %v, %s, %t {causal=0} : T[2, A, 3, 5]\n"
     "%b = attention %q, %k, %v, %s, %t {causal=1} : T[2, A, 3, 5]\n",
     "a=%a, b=%b"},
};

static const char layer[] = "func @layer(%x: T[B, C], %w: T[B, C]) {\n"
                            "%p = constant {value=1} : bool[B, C]\n"
                            "%s = select %p, %w, %x : T[B, C]\n"
                            "return %s\n}\n";
static const Case loop = {
    "fhib", "%x: T[B, C]" INPUT ", %w: T[A, B, C]" INPUT,
    "%y = scan %x, %w {body=\"layer\", trip=A, carry=1, stacked=1} : "
    "T[B, C]\n",
    "y=%y"};

static const Case collectives[] = {
    {"fhib", "%x: T[A, B]" INPUT,
     "%a = all_gather %x {axes=x, concat_dim=0, id=1} : T[E, B]\n"
     "%b = reduce_scatter %a {axes=x, split_dim=0, combine=\"max\", id=2} : "
     "T[A, B]\n"
     "%c = all_reduce %x {axes=x, combine=\"sum\", id=3} : T[A, B]\n"
     "%d = all_reduce %x {axes=x, combine=\"min\", id=4} : T[A, B]\n"
     "%e = all_to_all %a {axes=x, split_dim=0, concat_dim=0, id=5} : "
     "T[E, B]\n"
     "%f = collective_permute %x {from=x, to=y, id=6} : T[A, B]\n"
     "%g = shard_slice %a {axes=x, split_dim=0} : T[A, B]\n",
     "a=%a, b=%b, c=%c, d=%d, e=%e, f=%f, g=%g"},
};

#define EACH(list, mesh, more)                                                 \
    (void)state;                                                               \
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)                    \
    check_case(&list[i], mesh, more)

static void test_pointwise(void **state)
{
    EACH(pointwise, "", "");
}

static void test_products(void **state)
{
    EACH(products, "", "");
}

static void test_reductions(void **state)
{
    EACH(reductions, "", "");
}

static void test_moves(void **state)
{
    EACH(moves, "", "");
}

static void test_loop(void **state)
{
    (void)state;
    check_case(&loop, "", layer);
}

static void test_collectives(void **state)
{
    EACH(collectives, "x=2 y=2", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pointwise),  cmocka_unit_test(test_products),
        cmocka_unit_test(test_reductions), cmocka_unit_test(test_moves),
        cmocka_unit_test(test_loop),       cmocka_unit_test(test_collectives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
