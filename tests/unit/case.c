#include "case.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pass/pass.h"

static void compile(Case *c, const char *text)
{
    static Diag d;
    d = (Diag){.out = stderr};
    Source *source = arena_new(&c->arena, Source, 1);
    *source = (Source){"case", text};
    PassContext pass = {
        .arena = &c->arena, .diag = &d, .uneven_pad = c->uneven_pad};
    PassOptions round_trip = {.round_trip = true};
    Module *m = module_parse(&c->arena, source, &d);
    assert_non_null(m);
    c->sharded =
        pass_run(&pass, m, "grad,fold,dce,propagate,reshard", &round_trip);
    assert_non_null(c->sharded);
    c->local = pass_run(&pass, c->sharded, "partition", &round_trip);
    assert_non_null(c->local);
}

void case_run_parts(Case *c, const char *text, const double *const part[])
{
    compile(c, text);
    c->out = module_interp(&c->arena, c->local, part);
}

void case_run(Case *c, const char *text, const double *const in[])
{
    compile(c, text);
    const Func *f = module_entry(c->sharded);
    const Mesh *mesh = &c->sharded->mesh;
    size_t n = (size_t)mesh->ndevice;
    const double **part =
        arena_new(&c->arena, const double *, (size_t)f->nparam *n);
    for (int p = 0; p < f->nparam; p++) {
        const Op *op = f->ops.at[p];
        double **of = scatter(&c->arena, mesh, &op->type, &op->sharding, in[p]);
        memcpy(part + (size_t)p * n, of, sizeof *of * n);
    }
    c->out = module_interp(&c->arena, c->local, part);
}

const double *case_result(const Case *c, int r, int64_t d)
{
    return c->out[r * c->local->mesh.ndevice + d];
}

static int64_t executions(const Module *m, const Func *f, const Op *like)
{
    int64_t n = 0;
    for_each_op (op, f) {
        if (op_role(op) == ROLE_loop)
            n += op_int(op, A_trip, 0) *
                 executions(m, module_find(m, op_str(op, A_body)), like);
        n += op->code == like->code && op->type.dtype == like->type.dtype &&
             type_count(&op->type) == like->type.dim[0];
    }
    return n;
}

int64_t case_executions(const Case *c, OpCode code, DType dtype, int64_t count)
{
    Op like = {.code = code,
               .type = {.dtype = dtype, .rank = 1, .dim = {count}}};
    return executions(c->local, module_entry(c->local), &like);
}

void assert_near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-12))
        fail_msg("got %.17g, want %.17g", got, want);
}

void assert_values(const double *got, int n, const double want[])
{
    for (int i = 0; i < n; i++)
        assert_near(got[i], want[i]);
}
