// Route: the indices of the k largest of n, best first.
//
// A number and its index become one 64-bit key: the number's bits in an order
// that integers have, then the index, lower ones first. So the largest key is
// the winner, ties and all. A NaN is larger than any number; -0 equals 0.
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "emit/kernel.h"

enum {
    OUT,
    IN,
};

typedef struct Route {
    const KernelCode *code;
    Gen *g;
    int64_t n, groups, size; // experts, groups, experts in a group
    LLVMValueRef keys, group_keys;
} Route;

static LLVMValueRef key_of(const Gen *g, LLVMValueRef x, LLVMValueRef index)
{
    LLVMValueRef zero = gen_float(g, 0, 1);
    LLVMValueRef bits =
        LLVMBuildBitCast(g->b, LLVMBuildFAdd(g->b, x, zero, ""), g->i32, "");
    LLVMValueRef sign = LLVMBuildAShr(g->b, bits, gen_i32(g, 31), "");
    sign = LLVMBuildAnd(g->b, sign, gen_i32(g, INT32_MAX), "");
    LLVMValueRef key = LLVMBuildXor(g->b, bits, sign, "");
    LLVMValueRef nan = LLVMBuildFCmp(g->b, LLVMRealUNO, x, x, "");
    key = LLVMBuildSelect(g->b, nan, gen_i32(g, INT32_MAX), key, "");
    key = LLVMBuildSExt(g->b, key, g->i64, "");
    key = LLVMBuildShl(g->b, key, gen_i64(g, 32), "");
    return LLVMBuildOr(g->b, key, gen_sub(g, gen_i64(g, UINT32_MAX), index),
                       "");
}

static LLVMValueRef index_of(const Gen *g, LLVMValueRef key)
{
    LLVMValueRef low = LLVMBuildAnd(g->b, key, gen_i64(g, UINT32_MAX), "");
    return gen_sub(g, gen_i64(g, UINT32_MAX), low);
}

static LLVMValueRef number_of(const Gen *g, LLVMValueRef key)
{
    LLVMValueRef high = LLVMBuildAShr(g->b, key, gen_i64(g, 32), "");
    high = LLVMBuildTrunc(g->b, high, g->i32, "");
    LLVMValueRef sign = LLVMBuildAShr(g->b, high, gen_i32(g, 31), "");
    sign = LLVMBuildAnd(g->b, sign, gen_i32(g, INT32_MAX), "");
    return LLVMBuildBitCast(g->b, LLVMBuildXor(g->b, high, sign, ""), g->f32,
                            "");
}

static LLVMValueRef key_at(const Gen *g, LLVMValueRef keys, LLVMValueRef i)
{
    return gen_address(g, keys, gen_scale(g, i, 8));
}

// The largest of n keys, `but` left out.
static LLVMValueRef best_key(const Gen *g, LLVMValueRef keys, int64_t n,
                             LLVMValueRef but)
{
    Loop l;
    LLVMValueRef best = gen_i64(g, INT64_MIN);
    loop_begin(g, &l, gen_i64(g, 0), gen_i64(g, n), gen_i64(g, 1), 1, &best);
    LLVMValueRef key = gen_load(g, g->i64, key_at(g, keys, l.i), 8);
    LLVMValueRef more = LLVMBuildICmp(g->b, LLVMIntSGT, key, l.carry[0], "");
    if (but)
        more = LLVMBuildAnd(g->b, more,
                            LLVMBuildICmp(g->b, LLVMIntNE, key, but, ""), "");
    best = LLVMBuildSelect(g->b, more, key, l.carry[0], "");
    loop_end(g, &l, &best);
    return l.carry[0];
}

static LLVMValueRef take_best(const Gen *g, LLVMValueRef keys, int64_t n)
{
    LLVMValueRef index = index_of(g, best_key(g, keys, n, NULL));
    gen_store(g, gen_i64(g, INT64_MIN), key_at(g, keys, index), 8);
    return index;
}

static void make_keys(const Route *r, LLVMValueRef in)
{
    Loop l;
    const Gen *g = r->g;
    const Type *type = &r->code->kernel->op->operand[0]->type;
    loop_count(g, &l, 0, r->n, 1);
    LLVMValueRef p = access_along(r->code, IN, in, type->rank - 1, l.i);
    LLVMValueRef x = gen_load_as(g, type->dtype, p, 1);
    gen_store(g, key_of(g, x, l.i), key_at(g, r->keys, l.i), 8);
    loop_end(g, &l, NULL);
}

static void score_groups(const Route *r)
{
    Loop l;
    const Gen *g = r->g;
    const char *score = op_str(r->code->kernel->op, A_group_score);
    loop_count(g, &l, 0, r->groups, 1);
    LLVMValueRef keys = key_at(g, r->keys, gen_scale(g, l.i, r->size));
    LLVMValueRef best = best_key(g, keys, r->size, NULL);
    LLVMValueRef x = number_of(g, best);
    if (strcmp(score, "top2") == 0 && r->size > 1)
        x = LLVMBuildFAdd(g->b, x,
                          number_of(g, best_key(g, keys, r->size, best)), "");
    gen_store(g, key_of(g, x, l.i), key_at(g, r->group_keys, l.i), 8);
    loop_end(g, &l, NULL);
}

// Groups that were taken have no key left; experts of the others get -inf.
static void close_groups(const Route *r)
{
    Loop take, l, e;
    Branch b;
    const Gen *g = r->g;
    loop_count(g, &take, 0, op_int(r->code->kernel->op, A_top_groups, 0), 1);
    take_best(g, r->group_keys, r->groups);
    loop_end(g, &take, NULL);
    loop_count(g, &l, 0, r->groups, 1);
    LLVMValueRef key = gen_load(g, g->i64, key_at(g, r->group_keys, l.i), 8);
    LLVMValueRef closed =
        LLVMBuildICmp(g->b, LLVMIntNE, key, gen_i64(g, INT64_MIN), "");
    branch_if(g, &b, closed);
    loop_count(g, &e, 0, r->size, 1);
    LLVMValueRef i = gen_add(g, gen_scale(g, l.i, r->size), e.i);
    gen_store(g, key_of(g, gen_float(g, -INFINITY, 1), i),
              key_at(g, r->keys, i), 8);
    loop_end(g, &e, NULL);
    branch_end(g, &b);
    loop_end(g, &l, NULL);
}

static void choose(const Route *r, LLVMValueRef out)
{
    Loop l;
    const Gen *g = r->g;
    const Op *op = r->code->kernel->op;
    loop_count(g, &l, 0, op_int(op, A_k, 0), 1);
    LLVMValueRef index = take_best(g, r->keys, r->n);
    gen_store(g, LLVMBuildTrunc(g->b, index, g->i32, ""),
              access_along(r->code, OUT, out, op->type.rank - 1, l.i), 4);
    loop_end(g, &l, NULL);
}

static void walk_rows(const Route *r, int dim, LLVMValueRef in,
                      LLVMValueRef out)
{
    Loop l;
    const Type *type = &r->code->kernel->op->type;
    if (dim < type->rank - 1) {
        loop_count(r->g, &l, 0, type->dim[dim], 1);
        walk_rows(r, dim + 1, access_along(r->code, IN, in, dim, l.i),
                  access_along(r->code, OUT, out, dim, l.i));
        loop_end(r->g, &l, NULL);
        return;
    }
    make_keys(r, in);
    if (r->groups) {
        score_groups(r);
        close_groups(r);
    }
    choose(r, out);
}

void emit_route(KernelCode *c)
{
    const Type *in = &c->kernel->op->operand[0]->type;
    Route r = {.code = c, .g = c->g, .n = in->dim[in->rank - 1]};
    r.groups = op_int(c->kernel->op, A_groups, 0);
    r.size = r.groups ? r.n / r.groups : 0;
    r.keys = gen_stack(c->g, 8 * r.n);
    r.group_keys = gen_stack(c->g, 8 * (r.groups ? r.groups : 1));
    walk_rows(&r, 0, c->access[IN], c->access[OUT]);
}
