// Properties that hold for every op in the table, whatever it computes:
// splitting any factor over 2 and 3 devices and putting the pieces together
// again changes nothing.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "every-op.h"
#include "parts.h"
#include "ir/factor.h"
#include "pass/pass.h"

static Arena arena;
static Module *module;
static Diag diag;

static int load(void **state)
{
    (void)state;
    static Source source;
    source = (Source){"every_op", every_op};
    diag = (Diag){.out = stderr};
    module = module_parse(&arena, &source, &diag);
    return module && module_verify(module, &diag) ? 0 : -1;
}

static int unload(void **state)
{
    (void)state;
    arena_free(&arena);
    return 0;
}

// Collectives and masks stand in SHARDED and LOCAL; test_reshard runs them.
// Calls and gradients stand in GLOBAL only, and have no factors; nor have
// the further results of a loop.
static bool is_tested_elsewhere(int code)
{
    Role role = op_info[code]->role;
    return role == ROLE_collective || role == ROLE_reshard ||
           role == ROLE_wish || role == ROLE_call || role == ROLE_grad ||
           role == ROLE_result || code == OP_mask;
}

static void every_op_is_tested(void **state)
{
    (void)state;
    bool seen[NOP] = {false};
    for_each_op (op, module_entry(module))
        seen[op->code] = true;
    for (int i = 0; i < NOP; i++)
        if (!seen[i] && !is_tested_elsewhere(i))
            fail_msg("no test of op %s", op_info[i]->name);
}

// The op alone on a mesh x=n, its operands and result placed by p, and the
// result made whole.
static Module *split_module(Arena *a, const Op *op, const Rule *r,
                            const Placement *p, const Mesh *m, bool partial)
{
    Module *out = module_new(a, m, FORM_sharded);
    Func *f = func_new(out, "main");
    Op **in = arena_new(a, Op *, (size_t)op->noperand);
    for (int t = 0; t < op->noperand; t++) {
        in[t] = func_add(f, OP_param, 0, NULL);
        in[t]->type = op->operand[t]->type;
        in[t]->sharding = placement_of(m, op, r, t, p);
    }
    Op *y = func_copy_op(f, op, in);
    y->name = NULL;
    y->sharding = placement_of(m, op, r, op->noperand, p);
    assert_int_equal(partial, y->sharding.partial != 0);
    Op *whole = func_add(f, OP_reshard, 1, &y);
    whole->type = op->type;
    vec_push(a, &f->results, whole);
    return out;
}

static bool is_reduced(FactorKind k)
{
    return k == FACTOR_REDUCE || k == FACTOR_LOOKUP;
}

static void split_factor(const Op *op, const Rule *r, int factor, int n)
{
    Arena a = {0};
    Mesh m = {0};
    Placement p = {0};
    PassContext c = {.arena = &a, .diag = &diag, .uneven_pad = true};
    assert_true(mesh_add_axis(&m, "x", n));
    p.factor[factor] = split_of_axis(&m, 0);
    Module *local = pass_run(
        &c, split_module(&a, op, r, &p, &m, is_reduced(r->kind[factor])),
        "reshard,partition", &(PassOptions){.round_trip = true});
    assert_non_null(local);
    const double *in[MAX_TENSORS];
    const double **parts =
        arena_new(&a, const double *, (size_t)(op->noperand * n + 1));
    for (int t = 0; t < op->noperand; t++) {
        Sharding s = placement_of(&m, op, r, t, &p);
        in[t] = distinct(&a, &op->operand[t]->type, (unsigned)t);
        double **part = scatter(&a, &m, &op->operand[t]->type, &s, in[t]);
        memcpy(parts + t * n, part, sizeof *part * (size_t)n);
    }
    double *want = arena_new(&a, double, (size_t)type_count(&op->type));
    op_interp(module_entry(module), op, 0, in, want);
    double **got = module_interp(&a, local, parts);
    if (difference(&m, &op->type, &(Sharding){0}, want, got) > 1e-9)
        fail_msg("%s: splitting factor %d over %d devices changes the result",
                 op_info[op->code]->name, factor, n);
    arena_free(&a);
}

static void splitting_a_factor_changes_nothing(void **state)
{
    (void)state;
    int split = 0;
    for_each_op (op, module_entry(module)) {
        Rule r;
        bool is_placement = op_role(op) == ROLE_wish;
        if (op_role(op) == ROLE_argument || is_placement ||
            !op_info[op->code]->rule)
            continue;
        op_info[op->code]->rule(op, &r);
        for (int f = 0; f < r.nfactor; f++) {
            if (r.kind[f] == FACTOR_WHOLE)
                continue;
            // 5 does not divide: padded, and masked where it is reduced.
            for (int n = 2; n <= 5; n++) {
                bool merged = op->code == OP_reshape && r.size[f] % n;
                if (n != 4 && !merged) {
                    split_factor(op, &r, f, n);
                    split++;
                }
            }
        }
    }
    assert_true(split > 200);
}

// A loop's body is split like any other code: stacked weights by their rows
// and columns, what is carried by its rows.
static void splitting_a_loop_changes_nothing(void **state)
{
    (void)state;
    static const char *const text =
        "mesh x=2 y=3\n"
        "form global\n"
        "func @body(%c: f32[6, 12], %k: f32[6, 12], %w: f32[12, 12]) {\n"
        "    %y = einsum %c, %w {spec=\"ab,bc->ac\"} : f32[6, 12]\n"
        "    %z = add %y, %k : f32[6, 12]\n"
        "    return %z\n"
        "}\n"
        "func @main(%a: f32[6@x, 12], %b: f32[6, 12@y], %w: f32[2, 12@x, "
        "12@y]) {\n"
        "    %s = scan %a, %b, %w {body=\"body\", trip=2, carry=1, stacked=1} "
        ": f32[6, 12]\n"
        "    %r = shard %s : f32[6, 12]\n"
        "    return %r\n"
        "}\n";
    Source source = {"loop", text};
    PassContext c = {.arena = &arena, .diag = &diag};
    PassOptions round_trip = {.round_trip = true};
    Module *global = module_parse(&arena, &source, &diag);
    assert_non_null(global);
    Func *f = module_entry(global);
    const double *in[3];
    const double **parts = arena_new(&arena, const double *, 18);
    for (int t = 0; t < 3; t++) {
        in[t] = distinct(&arena, &f->ops.at[t]->type, (unsigned)t);
        double **part = scatter(&arena, &global->mesh, &f->ops.at[t]->type,
                                &f->ops.at[t]->sharding, in[t]);
        memcpy(parts + t * 6, part, sizeof *part * 6);
    }
    double **want = module_interp(&arena, global, in);
    Module *sharded = pass_run(&c, global, "propagate,reshard", &round_trip);
    assert_non_null(sharded);
    double **same = module_interp(&arena, sharded, in);
    Type t = module_entry(sharded)->results.at[0]->type;
    assert_true(difference(&(Mesh){.ndevice = 1}, &t, &(Sharding){0}, want[0],
                           same) < 1e-9);
    Module *local = pass_run(&c, sharded, "partition", &round_trip);
    assert_non_null(local);
    double **got = module_interp(&arena, local, parts);
    assert_true(difference(&local->mesh, &t, &(Sharding){0}, want[0], got) <
                1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_op_is_tested),
        cmocka_unit_test(splitting_a_factor_changes_nothing),
        cmocka_unit_test(splitting_a_loop_changes_nothing),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
