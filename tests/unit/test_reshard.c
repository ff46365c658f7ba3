// Every pair of placements, resharded, is the identity.
//
// Rank 2 and 3, two mesh axes, each axis in any dimension, in either order,
// pending or replicated; sizes that divide and sizes that do not. The plan is
// checked by the verifier (each collective does to the sharding what it says)
// and run by the interpreter in LOCAL on distinct values.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "parts.h"
#include "pass/pass.h"

enum {
    MAX_PLACEMENTS = 64,
};

typedef struct Placements {
    int n;
    Sharding at[MAX_PLACEMENTS];
} Placements;

static void put(const Mesh *m, Sharding *s, int axis, int where, int rank)
{
    Split split = split_of_axis(m, axis);
    if (where < rank)
        split_append(&s->dim[where], &split);
    else if (where == rank)
        s->partial |= split_atoms(&split);
}

// where: a dimension, rank (pending), or rank + 1 (replicated).
static void all_placements(const Mesh *m, int rank, bool pending, Placements *p)
{
    p->n = 0;
    for (int x = 0; x < rank + 2; x++) {
        for (int y = 0; y < rank + 2; y++) {
            if (!pending && (x == rank || y == rank))
                continue;
            Sharding s = {0};
            put(m, &s, 0, x, rank);
            put(m, &s, 1, y, rank);
            p->at[p->n++] = s;
            if (x == y && x < rank) { // the other order
                s = (Sharding){0};
                put(m, &s, 1, y, rank);
                put(m, &s, 0, x, rank);
                p->at[p->n++] = s;
            }
        }
    }
}

static Module *reshard_module(Arena *a, const Mesh *m, const Type *t,
                              const Sharding *from, const Sharding *to)
{
    Module *module = module_new(a, m, FORM_sharded);
    Func *f = func_new(module, "main");
    Op *x = func_add(f, OP_param, 0, NULL);
    x->type = *t;
    x->sharding = *from;
    Op *y = func_add(f, OP_reshard, 1, &x);
    y->type = *t;
    y->sharding = *to;
    vec_push(a, &f->results, y);
    return module;
}

static void check_pair(const Mesh *m, const Type *t, const Sharding *from,
                       const Sharding *to)
{
    Arena a = {0};
    Diag d = {.out = stderr};
    d.level[W_whole_tensor] = WARN_HIDE;
    PassContext c = {.arena = &a, .diag = &d, .uneven_pad = true};
    PassOptions round_trip = {.round_trip = true};
    Module *local = pass_run(&c, reshard_module(&a, m, t, from, to),
                             "reshard,partition", &round_trip);
    assert_non_null(local);
    double *whole = distinct(&a, t, 1);
    double **in = scatter(&a, m, t, from, whole);
    double **out = module_interp(&a, local, (const double *const *)in);
    if (difference(m, t, to, whole, out) > 1e-9)
        fail_msg("%s -> %s moves data wrong", type_string(&a, m, t, from),
                 type_string(&a, m, t, to));
    arena_free(&a);
}

static void check_all(int nx, int ny, const Type *t)
{
    Mesh m = {0};
    Placements from, to;
    assert_true(mesh_add_axis(&m, "x", nx) && mesh_add_axis(&m, "y", ny));
    all_placements(&m, t->rank, true, &from);
    all_placements(&m, t->rank, false, &to);
    assert_true(from.n > to.n && to.n > 9);
    for (int i = 0; i < from.n; i++)
        for (int k = 0; k < to.n; k++)
            check_pair(&m, t, &from.at[i], &to.at[k]);
}

static void rank_2(void **state)
{
    (void)state;
    check_all(2, 2, &(Type){DT_f32, 2, {8, 16}});
    check_all(4, 2, &(Type){DT_f32, 2, {8, 16}});
    check_all(2, 3, &(Type){DT_f32, 2, {12, 18}});
}

static void rank_3(void **state)
{
    (void)state;
    check_all(2, 2, &(Type){DT_f32, 3, {4, 8, 4}});
    check_all(3, 2, &(Type){DT_f32, 3, {6, 12, 6}});
}

static void sizes_that_do_not_divide(void **state)
{
    (void)state;
    check_all(2, 3, &(Type){DT_f32, 2, {7, 5}});
    check_all(5, 2, &(Type){DT_f32, 2, {12, 3}});
    check_all(3, 2, &(Type){DT_f32, 3, {2, 5, 7}});
}

// What is left of (x, y) when x is gathered: strided rows.
static void gaps(void **state)
{
    (void)state;
    Mesh m = {0};
    Placements p;
    Type t = {DT_f32, 2, {16, 8}};
    assert_true(mesh_add_axis(&m, "x", 2) && mesh_add_axis(&m, "y", 2));
    all_placements(&m, 2, false, &p);
    int y = m.axis[1].atom, x = m.axis[0].atom;
    const Sharding gapped[] = {
        {.dim = {{2, {-2, y}}}},
        {.dim = {{3, {x, -2, y}}}},
        {.dim = {{3, {-4, y, x}}}},
        {.dim = {{2, {-2, y}}, {2, {-4, x}}}},
    };
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < p.n; k++) {
            check_pair(&m, &t, &gapped[i], &p.at[k]);
            check_pair(&m, &t, &p.at[k], &gapped[i]);
        }
        for (int k = 0; k < 4; k++)
            check_pair(&m, &t, &gapped[i], &gapped[k]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rank_2),
        cmocka_unit_test(rank_3),
        cmocka_unit_test(sizes_that_do_not_divide),
        cmocka_unit_test(gaps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
