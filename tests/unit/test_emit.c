// Emitted code computes what the interpreter computes: every op, at many
// shapes, alone and fused.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "emit_run.h"

// Replaces `S` in a text by a shape and `T` by an element type, then runs it.
// Names in tests are lower case.
static void check_at(const char *body, const char *type, const char *shape,
                     double bound)
{
    char text[8192] = "mesh\nform local\n";
    size_t n = strlen(text);
    for (const char *s = body; *s; s++) {
        char one[2] = {*s, 0};
        const char *piece = *s == 'S' ? shape : *s == 'T' ? type : one;
        n += (size_t)snprintf(text + n, sizeof text - n, "%s", piece);
    }
    check_native(text, bound);
}

static void check(const char *body, double bound)
{
    check_at(body, "f32", "", bound);
}

static const char *const shapes[] = {"",      "1",       "3",       "8",
                                     "13",    "64",      "5, 7",    "3, 1, 9",
                                     "2, 16", "4, 3, 2", "1, 1, 1", "7, 100"};

enum {
    NSHAPE = sizeof shapes / sizeof *shapes,
};

static void test_unary(void **state)
{
    static const char *const ops[] = {"neg",  "abs",      "exp",   "log",
                                      "sqrt", "rsqrt",    "sin",   "cos",
                                      "tanh", "logistic", "floor", "ceil"};
    (void)state;
    for (int i = 0; i < 12; i++)
        for (int k = 0; k < NSHAPE; k++) {
            char body[512];
            snprintf(body, sizeof body,
                     "func @main(%%x: T[S] {class=\"input\"}) {\n"
                     "%%y = %s %%x : T[S]\n return y=%%y\n}\n",
                     ops[i]);
            check_at(body, "f32", shapes[k], 4e-7);
            check_at(body, "bf16", shapes[k], 8e-3);
        }
}

static void test_binary(void **state)
{
    static const char *const ops[] = {
        "add", "subtract", "multiply", "divide", "maximum", "minimum", "power"};
    (void)state;
    for (int i = 0; i < 7; i++)
        for (int k = 0; k < NSHAPE; k++) {
            char body[512];
            snprintf(body, sizeof body,
                     "func @main(%%x: T[S] {class=\"input\"}, "
                     "%%y: T[S] {class=\"input\"}) {\n"
                     "%%z = %s %%x, %%y : T[S]\n return z=%%z\n}\n",
                     ops[i]);
            check_at(body, "f32", shapes[k], 4e-7);
            check_at(body, "bf16", shapes[k], 8e-3);
            if (i < 6)
                check_at(body, "i32", shapes[k], 0);
        }
}

static void test_logic(void **state)
{
    static const char *const directions[] = {"eq", "ne", "lt",
                                             "le", "gt", "ge"};
    (void)state;
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < NSHAPE; k++) {
            char body[1024];
            snprintf(body, sizeof body,
                     "func @main(%%x: T[S] {class=\"input\"}, "
                     "%%y: T[S] {class=\"input\"}, "
                     "%%p: bool[S] {class=\"input\"}) {\n"
                     "%%c = compare %%x, %%y {dir=\"%s\"} : bool[S]\n"
                     "%%n = not %%c : bool[S]\n"
                     "%%a = and %%n, %%p : bool[S]\n"
                     "%%o = or %%a, %%p : bool[S]\n"
                     "%%z = select %%o, %%x, %%y : T[S]\n"
                     "return c=%%c, a=%%a, z=%%z\n}\n",
                     directions[i]);
            check_at(body, "f32", shapes[k], 0);
            check_at(body, "i32", shapes[k], 0);
            check_at(body, "bool", shapes[k], 0);
        }
}

static void test_convert(void **state)
{
    static const char *const types[] = {"f32", "bf16", "i32", "bool"};
    (void)state;
    for (int from = 0; from < 4; from++)
        for (int to = 0; to < 4; to++)
            for (int k = 0; k < NSHAPE; k++) {
                char body[512];
                snprintf(body, sizeof body,
                         "func @main(%%x: T[S] {class=\"input\"}) {\n"
                         "%%y = convert %%x : %s[S]\n return y=%%y\n}\n",
                         types[to]);
                check_at(body, types[from], shapes[k], 4e-3);
            }
}

static void test_reduce(void **state)
{
    static const char *const shape[] = {"40, 3", "7",        "2, 3, 70",
                                        "5, 64", "4, 5, 16", "33, 33"};
    static const char *const dims[][3] = {
        {"0", "1", "0,1"}, {"0", "0", "0"},       {"0,2", "1", "1,2"},
        {"1", "0", "0,1"}, {"2", "0,1", "0,1,2"}, {"1", "0", "0,1"}};
    static const char *const result[][3] = {
        {"3", "40", ""}, {"", "", ""},       {"3", "2, 70", "2"},
        {"5", "64", ""}, {"4, 5", "16", ""}, {"33", "33", ""}};
    static const char *const ops[] = {"sum", "max", "min"};
    static const char *const types[] = {"f32", "bf16", "i32"};
    (void)state;
    for (int s = 0; s < 6; s++)
        for (int d = 0; d < 3; d++)
            for (int o = 0; o < 9; o++) {
                char body[512];
                snprintf(body, sizeof body,
                         "func @main(%%x: T[S] {class=\"input\"}) {\n"
                         "%%y = reduce_%s %%x {dims=[%s]} : T[%s]\n"
                         "return y=%%y\n}\n",
                         ops[o % 3], dims[s][d], result[s][d]);
                check_at(body, types[o / 3], shape[s],
                         o / 3 == 1 ? 8e-3 : 1e-6);
            }
}

static void test_cumsum(void **state)
{
    static const char *const shape[] = {"40", "5, 7", "3, 4, 16", "6, 19"};
    static const int rank[] = {1, 2, 3, 2};
    (void)state;
    for (int s = 0; s < 4; s++)
        for (int d = 0; d < rank[s]; d++) {
            char body[512];
            snprintf(body, sizeof body,
                     "func @main(%%x: T[S] {class=\"input\"}) {\n"
                     "%%y = cumsum %%x {dim=%d} : T[S]\n"
                     "%%z = cumsum %%x {dim=%d, reverse=1} : T[S]\n"
                     "return y=%%y, z=%%z\n}\n",
                     d, d);
            check_at(body, "f32", shape[s], 1e-6);
            check_at(body, "bf16", shape[s], 8e-3);
            check_at(body, "i32", shape[s], 0);
        }
}

static void test_views(void **state)
{
    (void)state;
    check("func @main(%x: f32[4, 6, 5] {class=\"input\"}) {\n"
          "%a = transpose %x {dims=[2, 0, 1]} : f32[5, 4, 6]\n"
          "%b = reshape %a : f32[20, 6]\n"
          "%c = slice %b {starts=[3, 1], limits=[17, 5]} : f32[14, 4]\n"
          "%d = reshape %c : f32[7, 2, 4]\n"
          "%e = neg %d : f32[7, 2, 4]\n"
          "%f = broadcast %e {dims=[1, 3, 0]} : f32[4, 7, 3, 2]\n"
          "%g = exp %f : f32[4, 7, 3, 2]\n"
          "return a=%a, c=%c, d=%d, f=%f, g=%g\n}\n",
          1e-6);
    check("func @main(%x: f32[4, 6] {class=\"input\"}) {\n"
          "%a = pad %x {dim=1, high=3} : f32[4, 9]\n"
          "%b = pad %x {dim=0, high=2} : f32[6, 6]\n"
          "%c = concat %b, %x, %x {dim=0} : f32[14, 6]\n"
          "%n = neg %x : f32[4, 6]\n"
          "%d = concat %n, %a {dim=1} : f32[4, 15]\n"
          "%i = iota {dim=1} : i32[4, 15]\n"
          "%j = convert %i : f32[4, 15]\n"
          "%e = add %d, %j : f32[4, 15]\n"
          "%k = pad %n {dim=1, high=0, low=2} : f32[4, 8]\n"
          "%l = pad %x {dim=0, high=3, low=1} : f32[8, 6]\n"
          "%f = mask %e {dim=1, size=11, offset=(), value=7.5} : f32[4, 15]\n"
          "return a=%a, b=%b, c=%c, d=%d, e=%e, f=%f, i=%i, k=%k, l=%l, "
          "x=%x\n}\n",
          1e-6);
    check("func @main(%x: f32[3] {class=\"input\"}) {\n"
          "%a = constant {value=[1, 2.5, -3]} : f32[3]\n"
          "%b = constant {value=2} : f32[]\n"
          "%c = broadcast %b {dims=[]} : f32[3]\n"
          "%d = multiply %x, %c : f32[3]\n"
          "%e = add %d, %a : f32[3]\n"
          "%i = iota {dim=0} : i32[3]\n"
          "return a=%a, b=%b, c=%c, e=%e, i=%i\n}\n",
          1e-6);
}

static void test_gather(void **state)
{
    (void)state;
    for (int t = 0; t < 3; t++) {
        static const char *const types[] = {"f32", "bf16", "i32"};
        check_at("func @main(%x: T[6, 11] {class=\"input\"}, "
                 "%i: i32[2, 5] {class=\"input\"}) {\n"
                 "%y = gather %x, %i {batch=0} : T[2, 5, 11]\n"
                 "return y=%y\n}\n",
                 types[t], "", 0);
        check_at("func @main(%x: T[2, 9, 3, 8] {class=\"input\"}, "
                 "%i: i32[2, 5] {class=\"input\"}) {\n"
                 "%y = gather %x, %i {batch=1} : T[2, 5, 3, 8]\n"
                 "return y=%y\n}\n",
                 types[t], "", 0);
        check_at("func @main(%x: T[5, 7] {class=\"input\"}, "
                 "%i: i32[5, 4] {class=\"input\"}, "
                 "%k: i32[] {class=\"input\"}) {\n"
                 "%y = gather %x, %i {batch=1} : T[5, 4]\n"
                 "%z = gather %x, %k {batch=0} : T[7]\n"
                 "return y=%y, z=%z\n}\n",
                 types[t], "", 0);
    }
}

static void test_route(void **state)
{
    (void)state;
    for (int t = 0; t < 2; t++) {
        static const char *const types[] = {"f32", "bf16"};
        check_at("func @main(%x: T[7, 3, 16] {class=\"input\"}) {\n"
                 "%a = route %x {k=3, groups=0, top_groups=0, "
                 "group_score=\"max\"} : i32[7, 3, 3]\n"
                 "%b = route %x {k=4, groups=4, top_groups=2, "
                 "group_score=\"top2\"} : i32[7, 3, 4]\n"
                 "%c = route %x {k=2, groups=8, top_groups=3, "
                 "group_score=\"max\"} : i32[7, 3, 2]\n"
                 "%q = floor %x : T[7, 3, 16]\n"
                 "%d = route %q {k=5, groups=0, top_groups=0, "
                 "group_score=\"max\"} : i32[7, 3, 5]\n"
                 "%e = route %q {k=5, groups=4, top_groups=3, "
                 "group_score=\"top2\"} : i32[7, 3, 5]\n"
                 "return a=%a, b=%b, c=%c, d=%d, e=%e\n}\n",
                 types[t], "", 0);
    }
}

static void check_attention(int b, int s, int t, int h, int d, int v)
{
    for (int k = 0; k < 4; k++) {
        char body[1024];
        snprintf(body, sizeof body,
                 "func @main(%%q: T[%d, %d, %d, %d] {class=\"input\"}, "
                 "%%k: T[%d, %d, %d, %d] {class=\"input\"}, "
                 "%%v: T[%d, %d, %d, %d] {class=\"input\"}, "
                 "%%i: i32[%d, %d] {class=\"input\"}, "
                 "%%j: i32[%d, %d] {class=\"input\"}) {\n"
                 "%%y = attention %%q, %%k, %%v, %%i, %%j {causal=%d} : "
                 "T[%d, %d, %d, %d]\n"
                 "return y=%%y\n}\n",
                 b, s, h, d, b, t, h, d, b, t, h, v, b, s, b, t, k & 1, b, s, h,
                 v);
        check_at(body, k & 2 ? "bf16" : "f32", "", k & 2 ? 2e-2 : 2e-6);
    }
}

static void test_attention(void **state)
{
    (void)state;
    check_attention(1, 8, 8, 1, 8, 8);
    check_attention(2, 5, 5, 3, 7, 9);
    check_attention(1, 1, 13, 2, 16, 4);
    check_attention(1, 60, 60, 1, 24, 20);
    check_attention(1, 3, 300, 1, 8, 8);
    check_attention(1, 530, 530, 1, 4, 5);
}

static void check_product(const char *spec, const char *a, const char *b,
                          const char *out)
{
    char body[512];
    snprintf(body, sizeof body,
             "func @main(%%x: T[%s] {class=\"input\"}, "
             "%%y: T[%s] {class=\"input\"}) {\n"
             "%%z = einsum %%x, %%y {spec=\"%s\"} : T[%s]\n"
             "return z=%%z\n}\n",
             a, b, spec, out);
    check_at(body, "f32", "", 2e-6);
    check_at(body, "bf16", "", 8e-3);
    check_at(body, "i32", "", 0);
}

static void test_product_sizes(void **state)
{
    static const int size[] = {1, 2, 5, 6, 7, 8, 13, 16, 17, 31, 40};
    (void)state;
    unsigned seed = 1;
    for (int i = 0; i < 60; i++) {
        int n[3];
        for (int k = 0; k < 3; k++) {
            seed = seed * 1664525 + 1013904223;
            n[k] = size[(seed >> 16) % 11];
        }
        for (int t = 0; t < 8; t++) {
            char a[32], b[32], out[32], spec[32];
            bool ta = t & 1, tb = t & 2, tc = t & 4;
            snprintf(a, sizeof a, "%d, %d", n[ta ? 2 : 0], n[ta ? 0 : 2]);
            snprintf(b, sizeof b, "%d, %d", n[tb ? 1 : 2], n[tb ? 2 : 1]);
            snprintf(out, sizeof out, "%d, %d", n[tc ? 1 : 0], n[tc ? 0 : 1]);
            snprintf(spec, sizeof spec, "%s,%s->%s", ta ? "ki" : "ik",
                     tb ? "jk" : "kj", tc ? "ji" : "ij");
            if (t == i % 8 || i < 4)
                check_product(spec, a, b, out);
        }
    }
    check_product("ik,kj->ij", "150, 800", "800, 70", "150, 70");
    check_product("ki,jk->ji", "800, 150", "70, 800", "70, 150");
}

static void test_product_specs(void **state)
{
    (void)state;
    check_product("bse,ehd->bshd", "2, 5, 7", "7, 3, 4", "2, 5, 3, 4");
    check_product("bse,nef->bsnf", "2, 5, 7", "3, 7, 9", "2, 5, 3, 9");
    check_product("bsnf,nfe->bse", "2, 5, 3, 9", "3, 9, 20", "2, 5, 20");
    check_product("bshv,hve->bse", "2, 5, 3, 4", "3, 4, 7", "2, 5, 7");
    check_product("bhsv,hve->bse", "2, 3, 5, 4", "3, 4, 7", "2, 5, 7");
    check_product("bshd,bthd->bhst", "2, 5, 3, 8", "2, 6, 3, 8", "2, 3, 5, 6");
    check_product("bhst,bthd->bshd", "2, 3, 5, 6", "2, 6, 3, 8", "2, 5, 3, 8");
    check_product("bsn,bsnf->bsf", "2, 5, 3", "2, 5, 3, 9", "2, 5, 9");
    check_product("bse,bse->bs", "2, 5, 30", "2, 5, 30", "2, 5");
    check_product("e,e->", "30", "30", "");
    check_product("e,f->ef", "30", "17", "30, 17");
    check_product("bse,bsf->ef", "2, 5, 30", "2, 5, 17", "30, 17");
    check_product("s,se->e", "9", "9, 30", "30");
    check_product("abc,cbd->adb", "3, 4, 5", "5, 4, 6", "3, 6, 4");
    check_product("ab,bc->c", "3, 4", "4, 5", "5");
}

static void test_fusion(void **state)
{
    (void)state;
    for (int t = 0; t < 2; t++) {
        static const char *const types[] = {"f32", "bf16"};
        double bound = t ? 2e-2 : 2e-6;
        // A norm: the sum of a row, then the row.
        check_at("func @main(%x: T[3, 5, 40] {class=\"input\"}, "
                 "%w: T[40] {class=\"param\"}) {\n"
                 "%a = multiply %x, %x : T[3, 5, 40]\n"
                 "%s = reduce_sum %a {dims=[2]} : T[3, 5]\n"
                 "%n = constant {value=0.025} : T[]\n"
                 "%nb = broadcast %n {dims=[]} : T[3, 5]\n"
                 "%m = multiply %s, %nb : T[3, 5]\n"
                 "%r = rsqrt %m : T[3, 5]\n"
                 "%rb = broadcast %r {dims=[0, 1]} : T[3, 5, 40]\n"
                 "%y = multiply %x, %rb : T[3, 5, 40]\n"
                 "%wb = broadcast %w {dims=[2]} : T[3, 5, 40]\n"
                 "%z = multiply %y, %wb : T[3, 5, 40]\n"
                 "return z=%z\n}\n",
                 types[t], "", bound);
        // A softmax.
        check_at("func @main(%x: T[3, 41] {class=\"input\"}) {\n"
                 "%m = reduce_max %x {dims=[1]} : T[3]\n"
                 "%mb = broadcast %m {dims=[0]} : T[3, 41]\n"
                 "%d = subtract %x, %mb : T[3, 41]\n"
                 "%e = exp %d : T[3, 41]\n"
                 "%s = reduce_sum %e {dims=[1]} : T[3]\n"
                 "%sb = broadcast %s {dims=[0]} : T[3, 41]\n"
                 "%y = divide %e, %sb : T[3, 41]\n"
                 "%l = log %s : T[3]\n"
                 "%q = add %l, %m : T[3]\n"
                 "%h = reduce_sum %q {dims=[0]} : T[]\n"
                 "return y=%y, q=%q, h=%h\n}\n",
                 types[t], "", bound);
        // The ends of products: gate, residual, bias, scale of a row.
        check_at("func @main(%x: T[3, 5, 24] {class=\"input\"}, "
                 "%w: T[24, 50] {class=\"param\"}, "
                 "%v: T[24, 50] {class=\"param\"}, "
                 "%u: T[50, 24] {class=\"param\"}, "
                 "%b: T[50] {class=\"param\"}, "
                 "%g: T[3, 5] {class=\"input\"}) {\n"
                 "%a = einsum %x, %w {spec=\"bse,ef->bsf\"} : T[3, 5, 50]\n"
                 "%bb = broadcast %b {dims=[2]} : T[3, 5, 50]\n"
                 "%c = add %a, %bb : T[3, 5, 50]\n"
                 "%l = logistic %c : T[3, 5, 50]\n"
                 "%s = multiply %c, %l : T[3, 5, 50]\n"
                 "%d = einsum %x, %v {spec=\"bse,ef->bsf\"} : T[3, 5, 50]\n"
                 "%h = multiply %s, %d : T[3, 5, 50]\n"
                 "%gb = broadcast %g {dims=[0, 1]} : T[3, 5, 50]\n"
                 "%k = multiply %h, %gb : T[3, 5, 50]\n"
                 "%o = einsum %k, %u {spec=\"bsf,fe->bse\"} : T[3, 5, 24]\n"
                 "%y = add %x, %o : T[3, 5, 24]\n"
                 "%z = convert %y : f32[3, 5, 24]\n"
                 "return z=%z\n}\n",
                 types[t], "", bound);
        // A product into a part, and one of parts.
        check_at("func @main(%x: T[6, 10] {class=\"input\"}, "
                 "%w: T[10, 18] {class=\"param\"}) {\n"
                 "%a = einsum %x, %w {spec=\"se,ef->sf\"} : T[6, 18]\n"
                 "%n = neg %x : T[6, 10]\n"
                 "%c = concat %n, %a, %x {dim=1} : T[6, 38]\n"
                 "%d = slice %c {starts=[1, 3], limits=[6, 35]} : T[5, 32]\n"
                 "%e = reshape %d : T[5, 4, 8]\n"
                 "%f = einsum %e, %e {spec=\"shd,thd->hst\"} : T[4, 5, 5]\n"
                 "return c=%c, f=%f\n}\n",
                 types[t], "", bound);
    }
}

static void test_scan(void **state)
{
    (void)state;
    const char *const bodies[] = {
        // In place.
        "%a = einsum %x, %w {spec=\"se,ef->sf\"} : T[6, 10]\n"
        "%b = add %a, %c : T[6, 10]\n"
        "%y = add %x, %b : T[6, 10]\nreturn %y\n",
        // Not in place: other rows are read.
        "%t = transpose %x {dims=[1, 0]} : T[10, 6]\n"
        "%a = einsum %t, %t {spec=\"es,fs->ef\"} : T[10, 10]\n"
        "%b = einsum %x, %a {spec=\"se,ef->sf\"} : T[6, 10]\n"
        "%s = reduce_sum %b {dims=[0]} : T[10]\n"
        "%sb = broadcast %s {dims=[1]} : T[6, 10]\n"
        "%d = multiply %sb, %w2 : T[6, 10]\n"
        "%y = tanh %d : T[6, 10]\nreturn %y\n",
        "return %x\n",
        "%y = transpose %w {dims=[0, 1]} : T[10, 10]\n"
        "%z = slice %y {starts=[0, 0], limits=[6, 10]} : T[6, 10]\n"
        "return %z\n",
        "return %c\n",
        "%r = slice %x {starts=[0, 0], limits=[3, 10]} : T[3, 10]\n"
        "%q = slice %x {starts=[3, 0], limits=[6, 10]} : T[3, 10]\n"
        "%y = concat %q, %r {dim=0} : T[6, 10]\nreturn %y\n",
        // What the last kernel reads is needed in the next turn.
        "%t = concat %x {dim=0} : T[6, 10]\n"
        "%z = add %t, %c : T[6, 10]\n"
        "%r = slice %x {starts=[0, 0], limits=[1, 10]} : T[1, 10]\n"
        "%b = broadcast %r {dims=[0, 1]} : T[1, 10]\n"
        "%v = reshape %b : T[10]\n"
        "%u = broadcast %v {dims=[1]} : T[6, 10]\n"
        "%y = add %z, %u : T[6, 10]\nreturn %y\n",
        "%r = slice %x {starts=[0, 0], limits=[3, 10]} : T[3, 10]\n"
        "%q = slice %x {starts=[3, 0], limits=[6, 10]} : T[3, 10]\n"
        "%y = concat %q, %r {dim=0} : T[6, 10]\n"
        "%z = reshape %y : T[6, 10]\n"
        "%v = reshape %x : T[10, 6]\n"
        "%u = transpose %v {dims=[1, 0]} : T[6, 10]\n"
        "return %u\n",
    };
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        char body[4096];
        snprintf(body, sizeof body,
                 "func @layer(%%x: T[6, 10], %%c: T[6, 10], %%w: T[10, 10], "
                 "%%w2: T[6, 10]) {\n%s}\n"
                 "func @main(%%x: T[6, 10] {class=\"input\"}, "
                 "%%c: T[6, 10] {class=\"input\"}, "
                 "%%w: T[4, 10, 10] {class=\"param\"}, "
                 "%%w2: T[4, 6, 10] {class=\"param\"}) {\n"
                 "%%z = scan %%x, %%c, %%w, %%w2 {body=\"layer\", trip=4, "
                 "carry=1, stacked=2} : T[6, 10]\n"
                 "%%n = neg %%x : T[6, 10]\n"
                 "%%v = scan %%n, %%z, %%w, %%w2 {body=\"layer\", trip=4, "
                 "carry=1, stacked=2} : T[6, 10]\n"
                 "return z=%%z, v=%%v\n}\n",
                 bodies[i]);
        check_at(body, "f32", "", 2e-6);
        if (i != 1)
            check_at(body, "bf16", "", 3e-2);
    }
}

static void test_nested_scan(void **state)
{
    (void)state;
    check("func @inner(%x: f32[4, 8], %v: f32[8], %w: f32[8]) {\n"
          "%a = add %v, %w : f32[8]\n"
          "%b = broadcast %a {dims=[1]} : f32[4, 8]\n"
          "%c = multiply %x, %b : f32[4, 8]\n"
          "%y = tanh %c : f32[4, 8]\n"
          "return %y\n}\n"
          "func @outer(%x: f32[4, 8], %v: f32[8], %w: f32[2, 8]) {\n"
          "%y = scan %x, %v, %w {body=\"inner\", trip=2, carry=1, stacked=1} "
          ": f32[4, 8]\n"
          "%z = add %x, %y : f32[4, 8]\n"
          "return %z\n}\n"
          "func @main(%x: f32[4, 8] {class=\"input\"}, "
          "%v: f32[3, 8] {class=\"param\"}, "
          "%w: f32[3, 2, 8] {class=\"param\"}) {\n"
          "%y = scan %x, %v, %w {body=\"outer\", trip=3, carry=1, stacked=2} "
          ": f32[4, 8]\n"
          "return y=%y\n}\n",
          1e-6);
}

static void check_mesh(const char *mesh, const char *body, double bound)
{
    char text[8192];
    snprintf(text, sizeof text, "mesh %s\nform local\n%s", mesh, body);
    check_native(text, bound);
}

static void test_collectives(void **state)
{
    (void)state;
    check_mesh("x=2 y=2",
               "func @main(%x: f32[4, 6] {class=\"param\"}, "
               "%i: i32[5] {class=\"input\"}) {\n"
               "%a = all_gather %x {axes=x, concat_dim=0, id=1} : f32[8, 6]\n"
               "%b = all_gather %x {axes=(y,x), concat_dim=1, id=2} : "
               "f32[4, 24]\n"
               "%c = reduce_scatter %a {axes=y, split_dim=0, combine=\"sum\", "
               "id=3} : f32[4, 6]\n"
               "%d = all_reduce %c {axes=x, combine=\"max\", id=4} : "
               "f32[4, 6]\n"
               "%e = all_to_all %d {axes=y, split_dim=0, concat_dim=1, id=5} "
               ": f32[2, 12]\n"
               "%f = collective_permute %e {from=(x,y), to=(y,x), id=6} : "
               "f32[2, 12]\n"
               "%g = shard_slice %f {axes=y, split_dim=1} : f32[2, 6]\n"
               "%h = exp %g : f32[2, 6]\n"
               "%k = all_reduce %g {axes=(x,y), combine=\"sum\", id=7} : "
               "f32[2, 6]\n"
               "%l = iota {dim=1, offset=(y,x)} : i32[2, 6]\n"
               "%m = mask %h {dim=0, size=3, offset=x, value=-1} : f32[2, 6]\n"
               "%o = gather %x, %i {batch=0, offset=x, size=8} : f32[5, 6]\n"
               "%t = transpose %x {dims=[1, 0]} : f32[6, 4]\n"
               "%u = all_gather %t {axes=x, concat_dim=0, id=8} : f32[12, 4]\n"
               "%q = reshape %x : f32[1, 3, 2, 4]\n"
               "%n = reshape %b : f32[1, 12, 2, 4]\n"
               "%r = constant {value=1} : i32[1, 3]\n"
               "%s = constant {value=[1, 1, 1, 0, 1, 1, 2, 1, 1, 1, 2, 1]} : "
               "i32[1, 12]\n"
               "%p = attention %q, %n, %n, %r, %s {causal=1, offset=(y,x)} : "
               "f32[1, 3, 2, 4]\n"
               "return p=%p, "
               "a=%a, b=%b, c=%c, d=%d, e=%e, f=%f, g=%g, h=%h, k=%k, "
               "l=%l, m=%m, o=%o, u=%u\n}\n",
               1e-6);
    check_mesh("x=4",
               "func @layer(%x: f32[4, 8], %w: f32[2, 8]) {\n"
               "%a = all_gather %w {axes=x, concat_dim=0, id=1} : f32[8, 8]\n"
               "%b = einsum %x, %a {spec=\"se,ef->sf\"} : f32[4, 8]\n"
               "%c = all_reduce %b {axes=x, combine=\"sum\", id=2} : "
               "f32[4, 8]\n"
               "%d = tanh %c : f32[4, 8]\n"
               "%y = add %x, %d : f32[4, 8]\n"
               "return %y\n}\n"
               "func @main(%x: f32[4, 8] {class=\"input\"}, "
               "%w: f32[3, 2, 8] {class=\"param\"}) {\n"
               "%y = scan %x, %w {body=\"layer\", trip=3, carry=1, stacked=1} "
               ": f32[4, 8]\n"
               "return y=%y\n}\n",
               2e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unary),
        cmocka_unit_test(test_binary),
        cmocka_unit_test(test_logic),
        cmocka_unit_test(test_convert),
        cmocka_unit_test(test_reduce),
        cmocka_unit_test(test_cumsum),
        cmocka_unit_test(test_views),
        cmocka_unit_test(test_gather),
        cmocka_unit_test(test_route),
        cmocka_unit_test(test_attention),
        cmocka_unit_test(test_product_sizes),
        cmocka_unit_test(test_product_specs),
        cmocka_unit_test(test_fusion),
        cmocka_unit_test(test_scan),
        cmocka_unit_test(test_nested_scan),
        cmocka_unit_test(test_collectives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
