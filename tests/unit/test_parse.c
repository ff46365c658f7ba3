// The model language: each construct gives its tree, each mistake its message.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "frontend/frontend.h"
#include "frontend/parser.h"

typedef struct Case {
    Arena arena;
    Source source;
    char *messages;
    size_t nmessages;
    Diag diag;
    const Program *program;
} Case;

static void start(Case *c, const char *text)
{
    *c = (Case){.source = {"m.shard", text}};
    c->diag.out = open_memstream(&c->messages, &c->nmessages);
    c->program = program_parse(&c->arena, &c->source, &c->diag);
    fflush(c->diag.out);
}

static void finish(Case *c)
{
    fclose(c->diag.out);
    free(c->messages);
    arena_free(&c->arena);
}

static void parse(Case *c, const char *text)
{
    start(c, text);
    if (!c->program)
        fail_msg("%s", c->messages);
}

static void print_expr(const Expr *e, FILE *f);

static void print_index(const Index *x, FILE *f)
{
    static const char *const plain[] = {
        [INDEX_REST] = "..", [INDEX_NONE] = "_"};
    if (x->kind == INDEX_REST || x->kind == INDEX_NONE) {
        fputs(plain[x->kind], f);
        return;
    }
    if (x->kind == INDEX_NAME)
        fputs(x->name, f);
    if (x->lo)
        print_expr(x->lo, f);
    if (x->kind == INDEX_SLICE)
        fputc(':', f);
    if (x->hi)
        print_expr(x->hi, f);
}

static void print_indexes(const Indexes *x, FILE *f)
{
    fputc('[', f);
    for (int i = 0; i < x->n; i++) {
        fputs(i ? "," : "", f);
        print_index(&x->at[i], f);
    }
    fputc(']', f);
}

static void print_axes(const Axes *x, FILE *f)
{
    fputs(x->is_mesh ? "P(" : "(", f);
    for (int i = 0; i < x->dim.n; i++) {
        fputs(i ? "," : "", f);
        for (int j = 0; j < x->dim.at[i].n; j++)
            fprintf(f, "%s%s", j ? "+" : "", x->dim.at[i].at[j].s);
    }
    fputc(')', f);
}

// (op x y): every operator in prefix form, so that precedence shows.
static void print_expr(const Expr *e, FILE *f)
{
    static const char *const head[] = {
        [EXPR_NUMBER] = "",         [EXPR_NAME] = "",      [EXPR_FIELD] = "(.",
        [EXPR_CALL] = "(call ",     [EXPR_INDEX] = "(at ", [EXPR_UNARY] = "(",
        [EXPR_BINARY] = "(",        [EXPR_REDUCE] = "(",   [EXPR_IF] = "(if",
        [EXPR_STRUCT] = "(struct ", [EXPR_AXES] = "(axes "};
    fputs(head[e->kind], f);
    if (e->kind == EXPR_NUMBER)
        fprintf(f, "%g%s", e->number, e->is_int ? "" : "f");
    if (e->name)
        fputs(e->name, f);
    if (e->kind == EXPR_REDUCE)
        print_indexes(&e->index, f);
    if (e->base) {
        fputs(e->name ? " " : "", f);
        print_expr(e->base, f);
    }
    if (e->kind == EXPR_INDEX)
        print_indexes(&e->index, f);
    for (int i = 0; i < e->args.n; i++) {
        fputc(' ', f);
        print_expr(e->args.at[i], f);
    }
    for (int i = 0; i < e->fields.n; i++) {
        fprintf(f, " %s=", e->fields.at[i].name.s);
        print_expr(e->fields.at[i].value, f);
    }
    if (e->kind == EXPR_AXES)
        print_axes(&e->axes, f);
    fputs(e->kind == EXPR_NUMBER || e->kind == EXPR_NAME ? "" : ")", f);
}

static void precedence_and_postfix(void **state)
{
    (void)state;
    static const struct {
        const char *text, *tree;
    } exprs[] = {
        {"1 + 2 * 3", "(+ 1 (* 2 3))"},
        {"a - b - c", "(- (- a b) c)"},
        {"-x ** 2", "(- (** x 2))"},
        {"2 ** -1 ** y", "(** 2 (- (** 1 y)))"},
        {"!a && b || c == d", "(|| (&& (! a) b) (== c d))"},
        {"a ++ b + c ++ d", "(++ (++ a (+ b c)) d)"},
        {"a + b < c ++ d", "(< (+ a b) (++ c d))"},
        {"1e-6 * 1.0", "(* 1e-06f 1f)"},
        {"f(x, g(y))[b, ..].z", "(.z (at (call f x (call g y))[b,..]))"},
        {"x[b, 0 : n, n :, : n, :, _, t[b], k + 1]",
         "(at x[b,0:n,n:,:n,:,_,(at t[b]),(+ k 1)])"},
        {"sum(b, s) w[b] * x + 1", "(sum[b,s] (+ (* (at w[b]) x) 1))"},
        {"a * max(k) b + c", "(* a (max[k] (+ b c)))"},
        {"(mean(..) x) / 2", "(/ (mean[..] x) 2)"},
        {"f(sum(k) a + b, c)", "(call f (sum[k] (+ a b)) c)"},
        {"min(k) -x", "(min[k] (- x))"},
        {"max + rotation.max", "(+ max (.max rotation))"},
        {"if a > b { 1 } else { 2 }", "(if (> a b) 1 2)"},
        {"if a { 1 } else if b { 2 } else { 3 }", "(if a 1 (if b 2 3))"},
        {"yarn { theta = 1  max = 2 }", "(struct yarn theta=1 max=2)"},
        {"adamw(x, b1 = 0.9  b2 = c,  d = 1)",
         "(call adamw x b1=0.9f b2=c d=1)"},
        {"(a, _, model)", "(axes (a,_,model))"},
        {"(a,)", "(axes (a))"},
        {"P(fsdp, _, (x, y))", "(axes P(fsdp,_,x+y))"},
        {"model + mesh", "(+ model mesh)"},
    };
    for (size_t i = 0; i < sizeof exprs / sizeof *exprs; i++) {
        Case c;
        char text[200];
        snprintf(text, sizeof text, "let x = %s", exprs[i].text);
        parse(&c, text);
        char *tree;
        size_t n;
        FILE *f = open_memstream(&tree, &n);
        print_expr(c.program->lets.at[0].value, f);
        fclose(f);
        assert_string_equal(tree, exprs[i].tree);
        free(tree);
        finish(&c);
    }
}

static void declarations(void **state)
{
    (void)state;
    Case c;
    parse(&c, "model deepseek\n"
              "include \"other.shard\" // not followed here\n"
              "sizes { batch seq\n experts = 2 * n\n model }\n"
              "options { dtype = bf16  score = max\n rot = y { a = 1 } }\n"
              "let e = 1\n"
              "config tiny : big { batch = 4  rotation.mscale = 0.7 }\n"
              "mesh four { data = 2  model = 2 }\n");
    const Program *p = c.program;
    assert_string_equal(p->model.s, "deepseek");
    assert_int_equal(p->sizes.n, 4);
    assert_null(p->sizes.at[1].value);
    assert_int_equal(p->sizes.at[2].value->kind, EXPR_BINARY);
    assert_int_equal(p->options.n, 3);
    assert_int_equal(p->options.at[2].value->kind, EXPR_STRUCT);
    assert_string_equal(p->configs.at[0].base.s, "big");
    assert_string_equal(p->configs.at[0].fields.at[1].name.s,
                        "rotation.mscale");
    assert_string_equal(p->meshes.at[0].axes.at[1].name.s, "model");
    finish(&c);
}

static void functions(void **state)
{
    (void)state;
    Case c;
    parse(&c, "fn f(x: [.., d], n: f32[a, 2 * b], ffn: fn, s: f32[], i: i32)\n"
              "    -> logits: f32[.., d]\n{ return [.., d] x[.., d]\n}\n"
              "fn g() { return 1 }");
    const Fn *f = c.program->fns.at[0];
    assert_int_equal(f->params.n, 5);
    assert_true(f->params.at[0].type.has_rest);
    assert_null(f->params.at[0].type.dtype.s);
    assert_int_equal(f->params.at[1].type.dim.n, 2);
    assert_true(f->params.at[2].type.is_fn);
    assert_true(f->params.at[3].type.has_dims);
    assert_false(f->params.at[4].type.has_dims);
    assert_string_equal(f->result_name.s, "logits");
    assert_true(f->body.at[0]->targets.at[0].has_index);
    assert_int_equal(f->body.at[0]->targets.at[0].index.n, 2);
    assert_false(c.program->fns.at[1]->has_result);
    finish(&c);
}

static void statements(void **state)
{
    (void)state;
    Case c;
    parse(&c, "fn f(x: [b]) {\n"
              "    param v, w: f32[a] @ (embed, _) init normal(1.0)\n"
              "    param plain: f32\n"
              "    stream = (a, b)\n"
              "    y[b, s] = x[b] shard y, x @ stream   shard x @ P(d)\n"
              "    p, q = g(x); r = p\n"
              "    if a { x = 1 } else if b { x = 2 } else { x = 3 }\n"
              "    repeat moe: n + 1 remat save(a, b) { x = g(x) }\n"
              "    repeat dense: 2 { }\n"
              "    z = p\n"
              "        + q\n"
              "        * r\n"
              "}\n"
              "train { input a, b: i32[n]\n loss = a }");
    const Stmts *s = &c.program->fns.at[0]->body;
    static const StmtKind kinds[] = {STMT_PARAM,  STMT_PARAM,  STMT_ASSIGN,
                                     STMT_ASSIGN, STMT_SHARD,  STMT_SHARD,
                                     STMT_ASSIGN, STMT_ASSIGN, STMT_IF,
                                     STMT_REPEAT, STMT_REPEAT, STMT_ASSIGN};
    assert_int_equal(s->n, sizeof kinds / sizeof *kinds);
    for (int i = 0; i < s->n; i++)
        assert_int_equal(s->at[i]->kind, kinds[i]);
    assert_int_equal(s->at[0]->names.n, 2);
    assert_string_equal(s->at[0]->axes->axes.dim.at[1].at[0].s, "_");
    assert_int_equal(s->at[0]->value->kind, EXPR_CALL);
    assert_null(s->at[1]->axes);
    assert_int_equal(s->at[4]->value->kind, EXPR_NAME);
    assert_true(s->at[5]->value->axes.is_mesh);
    assert_int_equal(s->at[6]->targets.n, 2);
    assert_int_equal(s->at[8]->otherwise.at[0]->kind, STMT_IF);
    assert_int_equal(s->at[8]->otherwise.at[0]->otherwise.n, 1);
    assert_string_equal(s->at[9]->remat, "save(a, b)");
    assert_null(s->at[10]->remat);
    assert_int_equal(c.program->train.body.at[0]->kind, STMT_INPUT);
    finish(&c);
}

static void rule_lines(void **state)
{
    (void)state;
    Case c;
    parse(&c, "rules r : base { a -> x, y   b ->   c -> model\n"
              " d ->\n a -> x,\n z\n mesh -> data // again\n"
              " alias p = q  alias r = s }");
    const RulesDecl *r = &c.program->rules.at[0];
    static const int naxis[] = {2, 0, 1, 0, 2, 1};
    assert_string_equal(r->base.s, "base");
    assert_int_equal(r->lines.n, 6);
    for (int i = 0; i < 6; i++)
        assert_int_equal(r->lines.at[i].axes.n, naxis[i]);
    assert_int_equal(r->aliases.n, 2);
    assert_string_equal(r->aliases.at[1].means.s, "s");
    finish(&c);
}

static int count(const char *text, const char *part)
{
    int n = 0;
    for (const char *s = text; (s = strstr(s, part)); s++)
        n++;
    return n;
}

// Each text has just these errors.
static void mistakes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *message[4];
    } wrong[] = {
        {"let x = 1 +",
         {"m.shard:1:12: error: unexpected end of file, "
          "expected an expression"}},
        {"let x = )", {"1:9: error: unexpected `)`, expected an expression"}},
        {"confg a { }", {"unexpected `confg`, expected a declaration"}},
        {"fn f() {\n x = 1 2\n y = * 3\n z = (1\n param a f32\n}\n",
         {"2:8: error: unexpected `2`", "3:6: error: unexpected `*`",
          "4:6: error: `(` is never closed", "5:10: error: unexpected `f32`"}},
        {"fn f(x: [a] {\n x = 1\n}\nlet a = = 1\n",
         {"1:13: error: unexpected `{`, expected `=`, `)` or `,`",
          "4:9: error: unexpected `=`, expected an expression"}},
        {"fn f() {\n x = 1\n\nfn g() { x = }\nmesh m { a 2 }",
         {"1:8: error: `{` is never closed", "4:14: error: unexpected `}`",
          "5:12: error: unexpected `2`, expected `=` or `.`"}},
        {"rules r { a -> b c\n d e\n f -> g, }",
         {"1:18: error: unexpected `c`",
          "2:2: error: unexpected `d`, "
          "expected a rule, `alias` or `}`",
          "3:10: error: unexpected `}`, expected a name"}},
        {"sizes { a = 3x }\noptions { b = 1e400 }\n",
         {"`3x` is not a number", "the number is too large"}},
        {"let x = a < b < c", {"unexpected `<`"}},
        {"let x = $ + 1\nlet y = \x01\nlet z = \xc3\xa9\n",
         {"unexpected character `$`", "unexpected character \\x01",
          "names and signs are ASCII"}},
        {"// \xff\n", {"1:4: error: not UTF-8"}},
        {"include \"a\ninclude b",
         {"the string is not closed", "unexpected `b`, expected a string"}},
        {"fn f() { y[a + 1] = x\n return [0 : 2] x }",
         {"1:12: error: only names of indices and .. can stand here",
          "2:10: error: only names"}},
        {"fn f() { input a: i32[b] }", {"input belongs in train"}},
        {"fn f() { if a + { x = 1 } else { y = }\n z = ( }",
         {"unexpected `{`, expected an expression", "1:38: error",
          "`(` is never closed"}},
        {"fn f() { }\nfn g() { }\nfn f() { }\nlet a = 1\nlet a = 2\n",
         {"3:4: error: function `f` is declared twice",
          "5:5: error: let `a` is declared twice"}},
        {"sizes { a a }\nconfig c { b = 1 b = 2 }\nrules r { }\nrules r { }",
         {"size `a` is declared twice", "config key `b` is declared twice",
          "rules `r` is declared twice"}},
        {"model a\nmodel b\ntrain { }\ntrain { }",
         {"a model name already", "a train block already"}},
        {"let x = (((1 + 2)\nlet y = (2\n",
         {"1:9: error: `(` is never closed",
          "2:9: error: `(` is never closed"}},
        {"}\n)\n", {"1:1: error: unexpected `}`, expected a declaration"}},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        Case c;
        start(&c, wrong[i].text);
        assert_null(c.program);
        int n = 0;
        for (; n < 4 && wrong[i].message[n]; n++)
            if (!strstr(c.messages, wrong[i].message[n]))
                fail_msg("no \"%s\" in:\n%s", wrong[i].message[n], c.messages);
        if (count(c.messages, "error:") != n)
            fail_msg("%d errors expected:\n%s", n, c.messages);
        finish(&c);
    }
}

// `part` n times between two texts; freed by the caller.
static char *repeated(const char *before, const char *part, int n,
                      const char *after)
{
    char *text;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    fputs(before, f);
    for (int i = 0; i < n; i++)
        fputs(part, f);
    fputs(after, f);
    fclose(f);
    return text;
}

// Deep or long input ends, in a message.
static void deep_input(void **state)
{
    (void)state;
    static const struct {
        const char *before, *part, *after, *message;
    } deep[] = {
        {"let x = ", "(", "1", "nested too deeply"},
        {"let x = ", "-", "1", "nested too deeply"},
        {"let x = ", "a ** ", "1", "nested too deeply"},
        {"let x = ", "a + ", "1", "nested too deeply"},
        {"let x = a", "[b]", "", "nested too deeply"},
        {"let x = a", ".b", "", "nested too deeply"},
        {"let x = ", "sum(k) ", "1", "nested too deeply"},
        {"let x = ", "if a { 1 } else ", "{ 1 }", "nested too deeply"},
        {"fn f() { ", "if a { ", "}", "nested too deeply"},
        {"fn f() { if a { } ", "else if a { } ", "}", "nested too deeply"},
        {"fn f() { ", "x = = 1\n", "}", "too many errors"},
        {"fn f() { ", "x = (\n param ", "}", "is never closed"},
    };
    for (size_t i = 0; i < sizeof deep / sizeof *deep; i++) {
        Case c;
        char *text =
            repeated(deep[i].before, deep[i].part, 20000, deep[i].after);
        start(&c, text);
        assert_null(c.program);
        if (!strstr(c.messages, deep[i].message))
            fail_msg("%zu: no \"%s\" in:\n%.1000s", i, deep[i].message,
                     c.messages);
        finish(&c);
        free(text);
    }
    Case c;
    char *text = repeated("fn f() {", "x = a\n", 20000, "}");
    parse(&c, text);
    assert_int_equal(c.program->fns.at[0]->body.n, 20000);
    finish(&c);
    free(text);
}

static void write_file(const char *dir, const char *name, const char *text)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

// Relative to the including file, each once, in circles, missing.
static void includes(void **state)
{
    (void)state;
    char dir[] = P_tmpdir "/test_parse.XXXXXX", path[200];
    assert_non_null(mkdtemp(dir));
    write_file(dir, "a.shard",
               "include \"b.shard\"\ninclude \"./b.shard\"\nlet a = 1\n");
    write_file(dir, "b.shard", "include \"a.shard\"\nlet b = 1\n");
    write_file(dir, "c.shard", "let c = 1\ninclude \"gone.shard\"\nlet d =\n");
    Case c;
    parse(&c, "");
    snprintf(path, sizeof path, "%s/a.shard", dir);
    const Program *p = program_load(&c.arena, path, &c.diag);
    assert_non_null(p);
    assert_int_equal(p->lets.n, 2);
    assert_string_equal(p->lets.at[0].name.s, "b");
    snprintf(path, sizeof path, "%s/c.shard", dir);
    assert_null(program_load(&c.arena, path, &c.diag));
    assert_null(program_load(&c.arena, dir, &c.diag));
    fflush(c.diag.out);
    assert_non_null(strstr(c.messages, "c.shard:2:9: error: cannot read "));
    assert_non_null(strstr(c.messages, "c.shard:3:8: error: unexpected end"));
    assert_non_null(strstr(c.messages, "Is a directory"));
    finish(&c);
    for (const char *s = "abc"; *s; s++) {
        snprintf(path, sizeof path, "%s/%c.shard", dir, *s);
        remove(path);
    }
    remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(precedence_and_postfix),
        cmocka_unit_test(declarations),
        cmocka_unit_test(functions),
        cmocka_unit_test(statements),
        cmocka_unit_test(rule_lines),
        cmocka_unit_test(mistakes),
        cmocka_unit_test(deep_input),
        cmocka_unit_test(includes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
