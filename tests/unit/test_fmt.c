// `shardc fmt`: the layout, that formatting again changes nothing, and that the
// tokens stay the same.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "frontend/frontend.h"

// What is left when blanks and `;` are taken out: the same before and after
// formatting.
static char *squeeze(const char *text)
{
    char *out = malloc(strlen(text) + 1), *to = out;
    for (const char *s = text; *s; s++)
        if (!strchr(" \t\r\n;", *s))
            *to++ = *s;
    *to = 0;
    return out;
}

static char *format(const char *text)
{
    Arena a = {0};
    char *out;
    size_t n;
    FILE *f = open_memstream(&out, &n);
    Diag d = {.out = stderr};
    Source s = {"fmt.shard", text};
    bool ok = fmt_source(&a, &s, f, &d);
    fclose(f);
    arena_free(&a);
    assert_true(ok);
    return out;
}

static void assert_format(const char *text, const char *want)
{
    char *once = format(text), *twice = format(once);
    char *tokens = squeeze(text), *after = squeeze(once);
    if (want)
        assert_string_equal(once, want);
    assert_string_equal(once, twice);
    assert_string_equal(tokens, after);
    free(once);
    free(twice);
    free(tokens);
    free(after);
}

static void formats(void **state)
{
    (void)state;
    assert_format("", "");
    assert_format("\n\n// only\n\n\n\n// this\n", "// only\n\n// this\n");
    assert_format("fn  f( x:[..,d],y : f32 [a] )->[..,d]\n{ // why\n\n"
                  "x = -a+b**-2*( -c );y[b,s]=max( k )-z[k,0:2,:,n:,: n]\n"
                  "longer=1 // c\nif a==b&&!c {x=1}\nelse { y = 2\n}\n\n}",
                  "fn f(x: [.., d], y: f32[a]) -> [.., d] {  // why\n"
                  "    x = -a + b ** -2 * (-c)  y[b, s] = "
                  "max(k) -z[k, 0 : 2, :, n :, : n]\n"
                  "    longer = 1  // c\n"
                  "    if a == b && !c { x = 1 } else {\n"
                  "        y = 2\n"
                  "    }\n"
                  "}\n");
    assert_format("fn f() {\nparam a:f32[x]@(p,q)  init ones\n"
                  "param long,b: f32 @ (p)\nx=1 shard x@s\n"
                  "yy[b]=(a\n+b) shard y @ P((a,b),_)\nz = a\n+b\n}\n",
                  "fn f() {\n"
                  "    param a:       f32[x]  @ (p, q)  init ones\n"
                  "    param long, b: f32     @ (p)\n"
                  "    x     = 1  shard x @ s\n"
                  "    yy[b] = (a\n"
                  "        + b)  shard y @ P((a, b), _)\n"
                  "    z = a\n"
                  "        + b\n"
                  "}\n");
    assert_format("rules r:q{\na->x,y\nlong->\nalias p=q\n}\n",
                  "rules r : q {\n    a    -> x, y\n    long ->\n"
                  "    alias p = q\n}\n");
}

static char *read_file(const char *path)
{
    char *text;
    size_t n;
    FILE *in = fopen(path, "r"), *f = open_memstream(&text, &n);
    assert_non_null(in);
    for (int ch; (ch = fgetc(in)) != EOF;)
        fputc(ch, f);
    fclose(in);
    fclose(f);
    return text;
}

static void formats_the_examples(void **state)
{
    (void)state;
    static const char *const paths[] = {
        "examples/deepseek.shard",      "examples/deepseek_configs.shard",
        "examples/lib.shard",           "examples/mlp.shard",
        "examples/transformer.shard",   "examples/rules/custom.shard",
        "examples/rules/maxtext.shard", "examples/rules/maxtext_2026.shard",
    };
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        char *text = read_file(paths[i]);
        assert_format(text, NULL);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats),
        cmocka_unit_test(formats_the_examples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
