// Elaboration: what formulas become, weights and their totals, loops, options.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "frontend/frontend.h"
#include "frontend/parser.h"
#include "frontend/rules.h"
#include "ir/op.h"

enum {
    MAX_SETS = 4,
};

typedef struct Built {
    Arena arena;
    Diag diag;
    const char *sets[MAX_SETS + 1];
    BuildOptions options;
    Module *module;
} Built;

static void start(Built *b)
{
    *b = (Built){.diag = {.out = stderr}};
    b->options = (BuildOptions){.sets = b->sets, .mesh = {.ndevice = 1}};
}

static void build(Built *b, const Program *p)
{
    assert_non_null(p);
    b->module = frontend_build(&b->arena, p, &b->options, &b->diag);
    assert_non_null(b->module);
    assert_true(module_verify(b->module, &b->diag));
}

static void build_example(Built *b, const char *path, const char *config)
{
    b->options.config = config;
    build(b, program_load(&b->arena, path, &b->diag));
}

// A function of x[b, s, e], m[b, s], i[b, s] and weights w[e, f], v[f].
static void build_formula(Built *b, const char *body)
{
    static const char head[] =
        "sizes { batch = 2 seq = 3 emb = 4 ff = 5 }\n"
        "options { dtype = f32 rotation = yarn { theta = 8 } }\n"
        "fn forward(x: f32[batch, seq, emb], m: f32[batch, seq],\n"
        "           i: i32[batch, seq]) {\n"
        "    param w: f32[emb, ff]\n"
        "    param v: f32[ff]\n";
    Source *source = arena_new(&b->arena, Source, 1);
    source->name = "formula";
    source->text = arena_printf(&b->arena, "%s%s\n}\n", head, body);
    build(b, program_parse(&b->arena, source, &b->diag));
}

// The codes of the entry's ops after its params, and their attributes.
static void expect_ops(const char *body, const char *want)
{
    Built b;
    char got[2000] = "";
    start(&b);
    build_formula(&b, body);
    for_each_op (op, module_entry(b.module)) {
        const char *spec = op_str(op, A_spec);
        const Attr *dims = op_attr(op, A_dims);
        if (op->code == OP_param)
            continue;
        size_t n = strlen(got);
        n += (size_t)snprintf(got + n, sizeof got - n, "%s%s", n ? " " : "",
                              op_info[op->code]->name);
        if (spec)
            n += (size_t)snprintf(got + n, sizeof got - n, ":%s", spec);
        for (int i = 0; dims && i < dims->n; i++)
            n += (size_t)snprintf(got + n, sizeof got - n, "%c%ld",
                                  i ? ',' : ':', (long)dims->ints[i]);
        if (op_attr(op, A_batch))
            snprintf(got + n, sizeof got - n, ":%ld",
                     (long)op_int(op, A_batch, 0));
    }
    assert_string_equal(got, want);
    arena_free(&b.arena);
}

static void test_products(void **state)
{
    (void)state;
    expect_ops("return [b, s, f] x[b, s, e] * w[e, f]", "einsum:bse,ef->bsf");
    expect_ops("return [f, s, b] x[b, s, e] * w[e, f]", "einsum:bse,ef->fsb");
    // Pairwise, left to right; an index is summed as soon as it is done with.
    expect_ops("return [b, s] x[b, s, e] * w[e, f] * v[f]",
               "einsum:bse,ef->bsf einsum:bsf,f->bs");
    // An index of one factor alone is summed before.
    expect_ops("return [b, s] m[b, s] * v[f]",
               "reduce_sum:0 broadcast multiply");
    // Without a sum: broadcasts and a multiplication.
    expect_ops("return [b, s, e] x[b, s, e] * m[b, s]",
               "broadcast:0,1 multiply");
    expect_ops("return [b, s, f] m[b, s] * v[f]",
               "broadcast:0,1 broadcast:2 multiply");
    expect_ops("return x * x", "multiply");
    expect_ops("return [b, s, e] x[b, s, e] / m[b, s]", "broadcast:0,1 divide");
}

static void test_scopes_of_sums(void **state)
{
    (void)state;
    // Arguments and parentheses are products of their own.
    expect_ops("return [b, s, f] exp(x[b, s, e] * w[e, f]) * (x[b, s, e] * "
               "w[e, f])",
               "einsum:bse,ef->bsf exp einsum:bse,ef->bsf multiply");
    expect_ops("return [b, s, f] m[b, s] + (x[b, s, e] * w[e, f])",
               "einsum:bse,ef->bsf broadcast:0,1 add");
    expect_ops("return [b, s] (sum(e) x[b, s, e] * x[b, s, e]) / m[b, s]",
               "multiply reduce_sum:2 divide");
    // What is left alone inside is summed outside.
    expect_ops("return [b, s] exp(x[b, s, e]) * x[b, s, e]",
               "exp einsum:bse,bse->bs");
}

static void test_reducers(void **state)
{
    (void)state;
    expect_ops("return [b, s] max(e) x[b, s, e]", "reduce_max:2");
    expect_ops("return [b] min(s, e) x[b, s, e]", "reduce_min:1,2");
    expect_ops("return [b, s] mean(e) x[b, s, e]",
               "reduce_sum:2 constant divide");
    expect_ops("return [s, b] sum(e) x[b, s, e]", "reduce_sum:2 transpose:1,0");
}

static void test_indexing(void **state)
{
    (void)state;
    expect_ops("return x[b, s, 1 : 3]", "slice");
    expect_ops("return x[b, s, :]", "");
    expect_ops("return [b, s] x[b, s, 0]", "slice reshape");
    expect_ops("return x[.., 0 : 2] ++ x[.., 2 :]", "slice slice concat");
    expect_ops("return x ++ m[b, s, _]", "broadcast:0,1 concat");
    expect_ops("return [b, s, f] w[i[b, s], f]", "gather:0");
    expect_ops("return [f, b, s] w[i[b, s], f]", "gather:0 transpose:2,0,1");
    expect_ops("return [b, s] x[b, s, i[b, s]]", "gather:2");
    expect_ops("return [.., e] x[.., e] + m[..]", "broadcast:0,1 add");
    expect_ops("return [b, .., e] x[b, .., e] * x[b, .., e]", "multiply");
}

static void test_functions(void **state)
{
    (void)state;
    expect_ops("return select(x > 0, x, 0)",
               "constant compare constant select");
    expect_ops("return [b, s, f] f32(i[b, s] == index(f)) * v[f]",
               "iota broadcast:0,1 broadcast:2 compare convert broadcast:2 "
               "multiply");
    expect_ops("return maximum(x, 0)", "constant maximum");
    expect_ops("return split(x, 2)", "reshape");
    expect_ops("return cumsum(x)", "cumsum");
    expect_ops("return rotation.theta ** m", "constant power");
}

// An argument's indices come back with the result.
static void test_indices_cross_calls(void **state)
{
    (void)state;
    static const char text[] =
        "sizes { batch = 2 emb = 4 ff = 5 }\noptions { dtype = f32 }\n"
        "fn act(x: [..]) -> [..] { return exp(x) }\n"
        "fn forward(x: f32[batch, emb], w: f32[emb, ff], v: f32[ff, batch])"
        " -> y: f32[batch] {\n"
        "    return [b] act(x[b, e] * w[e, f]) * v[f, b]\n}\n";
    Built b;
    start(&b);
    Source source = {"text", text};
    build(&b, program_parse(&b.arena, &source, &b.diag));
    const Func *f = module_entry(b.module);
    assert_string_equal(op_str(f->ops.at[f->ops.n - 1], A_spec), "bf,fb->b");
    assert_string_equal(f->result_names.at[0], "y");
    arena_free(&b.arena);
}

static int64_t count_params(const Module *m)
{
    int64_t n = 0;
    for_each_op (op, module_entry(m))
        if (op->code == OP_param && strcmp(op_str(op, A_class), "param") == 0)
            n += type_count(&op->type);
    return n;
}

static void test_totals(void **state)
{
    (void)state;
    static const struct {
        const char *config;
        int64_t params;
    } totals[] = {
        {"deepseek3_671b", 671026419200},
        {"deepseek3_test", 15851427840},
        {"deepseek2_16b", 15706484224},
        {"deepseek2_236b", 235741434880},
        {"micro_v3", 575760},
        {"micro_v2lite", 582504},
        {"micro_dense", 241008},
    };
    for (size_t i = 0; i < sizeof totals / sizeof *totals; i++) {
        Built b;
        start(&b);
        build_example(&b, "examples/deepseek.shard", totals[i].config);
        assert_int_equal(count_params(b.module), totals[i].params);
        arena_free(&b.arena);
    }
}

// Names and shapes are those of golden/reference-v3/params.safetensors.
static void test_weights(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t dim[5];
    } weights[] = {
        {"embed", {384, 96}},
        {"norm", {96}},
        {"logits", {96, 384}},
        {"dense.attn_norm", {1, 96}},
        {"dense.mlp_norm", {1, 96}},
        {"dense.wq_a", {1, 96, 48}},
        {"dense.q_norm", {1, 48}},
        {"dense.wq_b", {1, 48, 12, 12}},
        {"dense.wkv_a", {1, 96, 28}},
        {"dense.kv_norm", {1, 24}},
        {"dense.wkv_b", {1, 24, 12, 16}},
        {"dense.out", {1, 12, 8, 96}},
        {"dense.wi_0", {1, 96, 192}},
        {"dense.wi_1", {1, 96, 192}},
        {"dense.wo", {1, 192, 96}},
        {"moe.attn_norm", {2, 96}},
        {"moe.mlp_norm", {2, 96}},
        {"moe.wq_a", {2, 96, 48}},
        {"moe.q_norm", {2, 48}},
        {"moe.wq_b", {2, 48, 12, 12}},
        {"moe.wkv_a", {2, 96, 28}},
        {"moe.kv_norm", {2, 24}},
        {"moe.wkv_b", {2, 24, 12, 16}},
        {"moe.out", {2, 12, 8, 96}},
        {"moe.gate", {2, 96, 12}},
        {"moe.exp_wi_0", {2, 12, 96, 48}},
        {"moe.exp_wi_1", {2, 12, 96, 48}},
        {"moe.exp_wo", {2, 12, 48, 96}},
        {"moe.gate_bias", {2, 12}},
        {"moe.shared_wi_0", {2, 96, 48}},
        {"moe.shared_wi_1", {2, 96, 48}},
        {"moe.shared_wo", {2, 48, 96}},
    };
    static const char *const inputs[] = {"tokens", "positions", "segments",
                                         "targets", "target_mask"};
    enum { NINPUT = sizeof inputs / sizeof *inputs };
    Built b;
    start(&b);
    build_example(&b, "examples/deepseek.shard", "micro_v3");
    const Func *f = module_entry(b.module);
    assert_int_equal(f->nparam, NINPUT + sizeof weights / sizeof *weights);
    for (int i = 0; i < NINPUT; i++)
        assert_string_equal(f->ops.at[i]->name, inputs[i]);
    for (int i = NINPUT; i < f->nparam; i++) {
        const Op *op = f->ops.at[i];
        assert_string_equal(op->name, weights[i - NINPUT].name);
        for (int k = 0; k < 5; k++)
            assert_int_equal(k < op->type.rank ? op->type.dim[k] : 0,
                             weights[i - NINPUT].dim[k]);
    }
    assert_int_equal(f->results.n, 2);
    assert_string_equal(f->result_names.at[0], "loss");
    assert_string_equal(f->result_names.at[1], "logits");
    arena_free(&b.arena);
}

static int count_ops(const Module *m)
{
    int n = 0;
    for (int i = 0; i < m->funcs.n; i++)
        n += m->funcs.at[i]->ops.n;
    return n;
}

static void test_layers_are_one_body(void **state)
{
    (void)state;
    Built many, one, none;
    start(&many);
    build_example(&many, "examples/deepseek.shard", "deepseek3_671b");
    assert_int_equal(many.module->funcs.n, 3);
    assert_non_null(module_find(many.module, "dense"));
    const Func *body = module_find(many.module, "moe");
    assert_string_equal(body->ops.at[0]->name, "x");
    assert_string_equal(body->ops.at[1]->name, "positions");
    assert_string_equal(body->ops.at[3]->name, "attn_norm");
    start(&one);
    one.sets[0] = "moe_layers=1";
    one.sets[1] = "dense_layers=1";
    build_example(&one, "examples/deepseek.shard", "deepseek3_671b");
    assert_int_equal(count_ops(many.module), count_ops(one.module));
    start(&none);
    build_example(&none, "examples/deepseek.shard", "micro_dense");
    assert_int_equal(none.module->funcs.n, 2);
    arena_free(&many.arena);
    arena_free(&one.arena);
    arena_free(&none.arena);
}

// Weights are stored as f32 and cast once where the activations are bf16.
static void test_weights_are_cast(void **state)
{
    (void)state;
    Built b;
    start(&b);
    b.sets[0] = "dtype=bf16";
    build_example(&b, "examples/deepseek.shard", "micro_v3");
    const Func *f = module_find(b.module, "dense");
    int casts = 0;
    for_each_op (op, f)
        casts += op->code == OP_convert && op->operand[0]->code == OP_param &&
                 op->type.dtype == DT_bf16;
    assert_int_equal(casts, 12);
    assert_int_equal(module_entry(b.module)->results.at[1]->type.dtype, DT_f32);
    arena_free(&b.arena);
}

static const Op *find_op(const Module *m, OpCode code)
{
    for (int i = 0; i < m->funcs.n; i++)
        for_each_op (op, m->funcs.at[i])
            if (op->code == code)
                return op;
    return NULL;
}

// --set rotation=plain changes the head and keeps the fields.
static void test_options(void **state)
{
    (void)state;
    Built yarn, plain, v2;
    start(&yarn);
    build_example(&yarn, "examples/deepseek.shard", "micro_v3");
    assert_non_null(find_op(yarn.module, OP_minimum));
    start(&plain);
    plain.sets[0] = "rotation=plain";
    build_example(&plain, "examples/deepseek.shard", "micro_v3");
    assert_null(find_op(plain.module, OP_minimum));
    start(&v2);
    build_example(&v2, "examples/deepseek.shard", "deepseek2_236b");
    const Op *route = find_op(v2.module, OP_route);
    assert_int_equal(op_int(route, A_groups, 0), 8);
    assert_int_equal(op_int(route, A_top_groups, 0), 3);
    assert_string_equal(op_str(route, A_group_score), "max");
    arena_free(&yarn.arena);
    arena_free(&plain.arena);
    arena_free(&v2.arena);
}

static const char *placed(const Built *b, const char *name)
{
    static char text[200];
    const Func *f = module_entry(b->module);
    Arena a = {0};
    for (int i = 0; i < f->nparam; i++) {
        const Op *op = f->ops.at[i];
        if (strcmp(op->name, name) == 0)
            snprintf(
                text, sizeof text, "%s",
                type_string(&a, &b->module->mesh, &op->type, &op->sharding));
    }
    arena_free(&a);
    return text;
}

static void test_placements(void **state)
{
    (void)state;
    Built b;
    start(&b);
    b.options.mesh = (Mesh){.ndevice = 1};
    mesh_add_axis(&b.options.mesh, "fsdp", 2);
    mesh_add_axis(&b.options.mesh, "tensor", 2);
    const char *path = "examples/deepseek.shard";
    const Program *p = program_load(&b.arena, path, &b.diag);
    b.options.rules = rules_find(&b.arena, p, "maxtext", &b.diag);
    b.options.config = "micro_v3";
    build(&b, p);
    // Inputs lie as the first `shard` on them says, stacks have no axis.
    assert_string_equal(placed(&b, "tokens"), "i32[12@fsdp, 24]");
    assert_string_equal(placed(&b, "embed"), "f32[384@tensor, 96@fsdp]");
    assert_string_equal(placed(&b, "moe.wq_b"),
                        "f32[2, 48@fsdp, 12@tensor, 12]");
    assert_string_equal(placed(&b, "moe.exp_wi_0"),
                        "f32[2, 12, 96@fsdp, 48@tensor]");
    assert_int_equal(b.diag.nwarning, 0);
    arena_free(&b.arena);
}

static void test_examples(void **state)
{
    (void)state;
    static const char *const path[] = {"examples/mlp.shard",
                                       "examples/transformer.shard"};
    for (size_t i = 0; i < sizeof path / sizeof *path; i++) {
        Built b;
        start(&b);
        build_example(&b, path[i], NULL);
        arena_free(&b.arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_scopes_of_sums),
        cmocka_unit_test(test_reducers),
        cmocka_unit_test(test_indexing),
        cmocka_unit_test(test_functions),
        cmocka_unit_test(test_indices_cross_calls),
        cmocka_unit_test(test_totals),
        cmocka_unit_test(test_weights),
        cmocka_unit_test(test_layers_are_one_body),
        cmocka_unit_test(test_weights_are_cast),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_placements),
        cmocka_unit_test(test_examples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
