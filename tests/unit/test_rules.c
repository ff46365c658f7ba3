// Logical axis rules: the walk, bases and aliases, meshes from text, and
// MaxText's placements of eight configurations.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "frontend/parser.h"
#include "frontend/rules.h"

typedef struct Case {
    Arena arena;
    char *messages;
    size_t nmessages;
    Diag diag;
    const Program *program;
} Case;

static void start(Case *c, const char *text)
{
    *c = (Case){0};
    c->diag.out = open_memstream(&c->messages, &c->nmessages);
    Source *s = arena_new(&c->arena, Source, 1);
    *s = (Source){"test.shard", text};
    c->program = program_parse(&c->arena, s, &c->diag);
    fflush(c->diag.out);
    if (!c->program)
        fail_msg("%s", c->messages);
}

static void finish(Case *c)
{
    fclose(c->diag.out);
    free(c->messages);
    arena_free(&c->arena);
}

static void assert_message(Case *c, const char *part)
{
    fflush(c->diag.out);
    if (!strstr(c->messages, part))
        fail_msg("no \"%s\" in:\n%s", part, c->messages);
}

// Cuts "a b c" into names; returns how many.
static int split_words(Arena *a, const char *text, const char *word[MAX_RANK])
{
    int n = 0;
    for (const char *s = text; *s;) {
        size_t length = strcspn(s, " ");
        assert_true(n < MAX_RANK);
        word[n++] = arena_strndup(a, s, length);
        s += length + strspn(s + length, " ");
    }
    return n;
}

// "data - model,x": the axes of each dimension, of those on `m` if it is not
// NULL.
static const char *spec(Arena *a, const Resolution *res, const Mesh *m)
{
    const char *text = "";
    for (int d = 0; d < res->ndim; d++) {
        const AxisRule *rule = res->fired[d];
        const char *axes = "";
        for (int i = 0; rule && i < rule->naxis; i++) {
            int axis = m ? mesh_find(m, rule->axis[i]) : -1;
            if (m && (axis < 0 || m->axis[axis].size == 1))
                continue;
            axes = arena_printf(a, "%s%s%s", axes, *axes ? "," : "",
                                rule->axis[i]);
        }
        text =
            arena_printf(a, "%s%s%s", text, d ? " " : "", *axes ? axes : "-");
    }
    return text;
}

static void assert_resolves(Case *c, const char *set, const char *names,
                            const char *want)
{
    const char *logical[MAX_RANK];
    const Rules *r = rules_find(&c->arena, c->program, set, &c->diag);
    assert_non_null(r);
    int n = split_words(&c->arena, names, logical);
    Resolution res = rules_resolve(&c->arena, r, n, logical);
    assert_string_equal(spec(&c->arena, &res, NULL), want);
}

static void walks_rules_in_order(void **state)
{
    (void)state;
    Case c;
    start(&c, "rules r { batch -> data\n length ->\n embed -> model\n"
              " embed -> data\n embed2 -> model\n }");
    assert_resolves(&c, "r", "batch length embed", "data - model");
    assert_resolves(&c, "r", "embed batch", "model data");
    assert_resolves(&c, "r", "batch embed embed2", "data model -");
    assert_resolves(&c, "r", "embed2 _ embed", "- - model");
    assert_resolves(&c, "r", "embed2 unheard", "model -");
    finish(&c);
}

static void resolves_as_flax_does(void **state)
{
    (void)state;
    Case c;
    start(&c, "rules one { embed -> fsdp  mlp -> fsdp }\n"
              "rules two : one { mlp -> stage }\n"
              "rules doc { batch -> X  features -> X  heads -> Y\n"
              " batch -> Z }");
    assert_resolves(&c, "one", "embed mlp", "fsdp -");
    assert_resolves(&c, "two", "embed mlp", "fsdp stage");
    assert_resolves(&c, "doc", "batch length heads features", "X - Y -");
    finish(&c);
}

static void skips_a_rule_whole(void **state)
{
    (void)state;
    Case c;
    start(&c, "rules r { embed -> fsdp, context, expert\n"
              " q_lora -> fsdp, context, expert\n"
              " mlp -> fsdp_transpose, tensor\n"
              " wide -> fsdp, fsdp_transpose\n wide -> fsdp\n}");
    assert_resolves(&c, "r", "embed q_lora", "fsdp,context,expert -");
    assert_resolves(&c, "r", "wide mlp", "fsdp fsdp_transpose,tensor");
    finish(&c);
}

static void tells_why_a_rule_was_skipped(void **state)
{
    (void)state;
    Case c;
    start(&c, "rules r { embed -> data, fsdp\n q -> fsdp\n q ->\n"
              " embed -> x\n alias e = embed }");
    const Rules *r = rules_find(&c.arena, c.program, "r", &c.diag);
    const char *logical[] = {"e", "q", "nobody"};
    Mesh m = {0};
    assert_true(mesh_add_axis(&m, "fsdp", 2));
    Resolution res = rules_resolve(&c.arena, r, 3, logical);
    assert_int_equal(res.trials.n, 4);
    assert_int_equal(res.trials.at[1].verdict, RULE_AXIS_TAKEN);
    assert_int_equal(res.trials.at[1].by, 0);
    assert_string_equal(res.trials.at[1].axis, "fsdp");
    assert_int_equal(res.trials.at[3].verdict, RULE_DIM_TAKEN);
    assert_true(res.known[1]);
    assert_false(res.known[2]);
    resolution_explain(r, &res, logical, &m, c.diag.out);
    fflush(c.diag.out);
    assert_string_equal(
        c.messages,
        "    0  e = embed: fsdp\n"
        "        rule 1: embed -> data, fsdp: fires\n"
        "        rule 4: embed -> x: skipped, the dimension has its axes\n"
        "        dropped: data (not in the mesh)\n"
        "    1  q: replicated\n"
        "        rule 2: q -> fsdp: skipped, fsdp is used by e\n"
        "        rule 3: q -> (replicated): fires\n"
        "    2  nobody: replicated\n"
        "        no rule of r has this name\n");
    finish(&c);
}

static void merges_bases_and_aliases(void **state)
{
    (void)state;
    Case c;
    start(&c, "rules base { a -> x  b -> y  alias n = a  alias m = n }\n"
              "rules top : base { a -> z  alias n = b }");
    assert_resolves(&c, "base", "n", "x");
    assert_resolves(&c, "base", "m", "x");
    assert_resolves(&c, "top", "a n", "x y");
    assert_resolves(&c, "top", "m", "y");
    finish(&c);
}

static void reports_wrong_sets(void **state)
{
    (void)state;
    Case c;
    start(&c, "rules a : b { }\nrules b : a { }\nrules c : gone { }\n"
              "rules d { x -> y, y }");
    assert_null(rules_find(&c.arena, c.program, "a", &c.diag));
    assert_message(&c, "rules `a` are their own base");
    assert_null(rules_find(&c.arena, c.program, "c", &c.diag));
    assert_message(&c, "test.shard:3:11: error: no rules are called `gone`; "
                       "there are: a, b, c, d");
    assert_null(rules_find(&c.arena, c.program, "d", &c.diag));
    assert_message(&c, "axis `y` is twice in one rule");
    assert_null(rules_find(&c.arena, c.program, "e", &c.diag));
    assert_message(&c, "no rules are called `e`");
    finish(&c);
}

static void reads_meshes(void **state)
{
    (void)state;
    Case c;
    start(&c, "mesh four { fsdp = 2  model = 2 }\n");
    Mesh m;
    assert_true(mesh_from_text(&c.arena, c.program, "four", &m, &c.diag));
    assert_int_equal(m.ndevice, 4);
    assert_string_equal(m.axis[1].name, "model");
    assert_true(mesh_from_text(&c.arena, c.program, "a=3,b=1", &m, &c.diag));
    assert_int_equal(m.naxis, 2);
    assert_int_equal(m.ndevice, 3);
    assert_true(mesh_from_text(&c.arena, c.program, "a=1048576", &m, &c.diag));
    finish(&c);
}

static void reports_wrong_meshes(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } wrong[] = {
        {"five", "no mesh is called `five`; there are: zero, half, big"},
        {"", "a mesh is a name or a list"},
        {"a=2,,b=2", "mesh:1:5: error: a mesh is a name or a list"},
        {"a=2,=2", "a mesh is a name or a list"},
        {"a=2,a=2", "the mesh has two axes `a`"},
        {"a=0", "the size of axis `a` is not a whole number >= 1"},
        {"a=-2", "the size of axis `a` is not a whole number >= 1"},
        {"a=2x", "the size of axis `a` is not a whole number >= 1"},
        {"a=", "the size of axis `a` is not a whole number >= 1"},
        {"a=1024,b=2048", "more than 1048576 devices"},
        {"a=99999999999999999999999", "more than 1048576 devices"},
        {"a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1,i=1,j=1,k=1,l=1,m=1,n=1,o=1,p=1,q=1",
         "at most 16 axes"},
        {"zero", "the mesh has no axes"},
        {"half", "the size of axis `a` is not a whole number >= 1"},
        {"big", "more than 1048576 devices"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        Case c;
        start(&c, "mesh zero { }\nmesh half { a = 1.5 }\n"
                  "mesh big { a = 1000000  b = 1000000 }");
        Mesh m;
        assert_false(
            mesh_from_text(&c.arena, c.program, wrong[i].text, &m, &c.diag));
        assert_message(&c, wrong[i].message);
        finish(&c);
    }
}

// The fields of a line of a table; the last may be empty.
static void split_fields(char *line, char *field[4])
{
    line[strcspn(line, "\n")] = 0;
    for (int i = 0; i < 4; i++) {
        field[i] = line;
        line += strcspn(line, "\t");
        if (*line)
            *line++ = 0;
    }
}

// Checks each entry of a table; counts them by kind.
static void check_table(const char *path, int *nweight, int *nactivation)
{
    Case c;
    start(&c, "");
    FILE *f = fopen(path, "r");
    c.program = program_load(&c.arena, "examples/rules/custom.shard", &c.diag);
    assert_non_null(f);
    assert_non_null(c.program);
    char line[1000], *field[4];
    assert_non_null(fgets(line, sizeof line, f));
    split_fields(line, field);
    Mesh m;
    const Rules *r = rules_find(&c.arena, c.program, field[1], &c.diag);
    assert_non_null(r);
    assert_true(mesh_from_text(&c.arena, c.program, field[3], &m, &c.diag));
    while (fgets(line, sizeof line, f)) {
        const char *logical[MAX_RANK];
        split_fields(line, field);
        bool is_weight = strcmp(field[0], "weight") == 0;
        int n = split_words(&c.arena, field[2], logical);
        Resolution res = rules_resolve(&c.arena, r, n, logical);
        const char *got = spec(&c.arena, &res, is_weight ? NULL : &m);
        if (strcmp(got, field[3]) != 0)
            fail_msg("%s: %s: %s, not %s", path, field[1], got, field[3]);
        ++*(is_weight ? nweight : nactivation);
    }
    fclose(f);
    finish(&c);
}

static void places_as_maxtext_does(void **state)
{
    (void)state;
    static const char *const tables[] = {
        "tpu7x-16.ep_as_dp",   "tpu7x-16.maxtext_2026",
        "tpu7x-16.pure_fsdp",  "tpu7x-8.cp_as_ep",
        "tpu7x-8.ep_as_cp",    "tpu7x-8.shard_exp_on_fsdp",
        "v6e-16.maxtext_2026", "v6e-16.pipeline_large_moe",
    };
    int nweight = 0, nactivation = 0;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        char path[100];
        snprintf(path, sizeof path, "tests/data/placements/%s.tsv", tables[i]);
        check_table(path, &nweight, &nactivation);
    }
    assert_int_equal(nweight, 672);
    assert_int_equal(nactivation, 168);
}

// Splits of an axis list are its atoms on the mesh, in order.
static void drops_axes_the_mesh_lacks(void **state)
{
    (void)state;
    Case c;
    start(&c, "rules r { a -> none, x, one, y }");
    const Rules *r = rules_find(&c.arena, c.program, "r", &c.diag);
    const char *logical[] = {"a"};
    Mesh m;
    assert_true(
        mesh_from_text(&c.arena, c.program, "y=2,one=1,x=3", &m, &c.diag));
    Resolution res = rules_resolve(&c.arena, r, 1, logical);
    Split s = resolution_split(&res, 0, &m);
    assert_string_equal(split_string(&c.arena, &m, &s), "(x,y)");
    finish(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(walks_rules_in_order),
        cmocka_unit_test(resolves_as_flax_does),
        cmocka_unit_test(skips_a_rule_whole),
        cmocka_unit_test(tells_why_a_rule_was_skipped),
        cmocka_unit_test(merges_bases_and_aliases),
        cmocka_unit_test(reports_wrong_sets),
        cmocka_unit_test(reads_meshes),
        cmocka_unit_test(reports_wrong_meshes),
        cmocka_unit_test(drops_axes_the_mesh_lacks),
        cmocka_unit_test(places_as_maxtext_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
