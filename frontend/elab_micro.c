// Micro-batches: the batch is cut into parts, a loop adds up the gradients.
//
// Row r of the batch is in part r mod K: a device that holds a run of rows
// holds a run of each part, so nothing moves. The loss is total / count; the
// count of the whole batch depends on no weight and is computed first, so a
// part's loss is its total over that count, and the parts' losses and
// gradients add up to those of the whole batch.
#include <string.h>

#include "frontend/elab.h"
#include "ir/build.h"
#include "ir/loop.h"
#include "ir/op.h"

typedef struct Copy { // of what the count is computed by
    Step *s;
    Op **to; // by id in the loss
} Copy;

static Op *copy_value(Copy *c, const Op *op)
{
    Elab *e = c->s->e;
    Op **to = &c->to[op->id];
    if (*to)
        return *to;
    if (op_role(op) == ROLE_argument) {
        elab_fail(e, c->s->whole->count->at,
                  "the count depends on weight %s; micro_batches wants one "
                  "that depends on inputs only",
                  op->name);
        return NULL;
    }
    Op **operand = arena_new(e->arena, Op *, (size_t)op->noperand + 1);
    for (int i = 0; i < op->noperand; i++) {
        operand[i] = copy_value(c, op->operand[i]);
        if (!operand[i])
            return NULL;
    }
    *to = func_copy_op(e->func, op, operand);
    (*to)->name = NULL;
    return *to;
}

static Op *whole_count(Step *s)
{
    const Func *loss = s->whole->main;
    Copy c = {s, arena_new(s->e->arena, Op *, (size_t)loss->ops.n + 1)};
    memcpy(c.to, s->input, sizeof *c.to * (size_t)s->ninput);
    return copy_value(&c, s->whole->count);
}

// [B, ..] as [K, B/K, ..].
static Op *cut(Elab *e, Op *x, const Op *part, int64_t k)
{
    Type t = type_of_stack(&x->type, part->type.dim[0]);
    int64_t order[MAX_RANK];
    t.dim[1] = k;
    for (int i = 0; i < t.rank; i++)
        order[i] = i > 1 ? i : !i;
    int first = e->func->ops.n;
    Op *stack =
        build_transpose(e->func, build_reshape(e->func, x, &t), order);
    Sharding s = sharding_of_stack(&part->sharding, part->type.rank);
    stack = build_shard(e->func, stack, &s);
    for (int i = first; i < e->func->ops.n; i++) {
        e->func->ops.at[i]->at = x->at;
        e->func->ops.at[i]->place = x->place;
    }
    return stack;
}

static Op *add_to(Elab *e, Op *sum, Op *x, const Op *like)
{
    Op *op = emit_binary(e, like->at, OP_add, sum, x);
    return like->type.rank ? emit_shard(e, like->at, op, &like->sharding) : op;
}

// The loop's body. Its params are sums so far, of the loss and of gradients;
// weights; the count; a part of each input.
static Func *build_body(Step *s, const Func *loss)
{
    Elab *e = s->e;
    Func *f = func_new(e->module, unique_func(e, "micro_batch"));
    Func *step = e->func;
    Arena *a = e->module->arena;
    int n = s->nweight;
    OpList sum = {0}, weight = {0}, operands = {0};
    Op **gradient = arena_new(e->arena, Op *, (size_t)n + 1);
    e->func = f;
    vec_push(e->arena, &sum, step_param(e, loss->results.at[0], "loss"));
    for (int i = 0; i < n; i++)
        vec_push(e->arena, &sum,
                 step_param(e, s->weight[i],
                            arena_printf(a, "grad.%s", s->weight[i]->name)));
    for (int i = 0; i < n; i++)
        vec_push(e->arena, &weight,
                 step_param(e, s->weight[i], s->weight[i]->name));
    Op *count = step_param(e, loss->ops.at[loss->nparam - 1], "count");
    for (int i = 0; i < s->ninput; i++)
        vec_push(e->arena, &operands,
                 step_param(e, loss->ops.at[i], loss->ops.at[i]->name));
    for (int i = 0; i < n; i++)
        vec_push(e->arena, &operands, weight.at[i]);
    vec_push(e->arena, &operands, count);
    Op *value = step_gradients(e, loss, operands, gradient);
    for (int i = 0; i <= n && value; i++) {
        const Op *like = i ? s->weight[i - 1] : value;
        Op *next = add_to(e, sum.at[i], i ? gradient[i - 1] : value, like);
        vec_push(a, &f->results, next);
    }
    e->func = step;
    return value ? f : NULL;
}

// The loop's operands, in the order of the body's params.
static OpList operands_of(Step *s, const Func *loss, Op *count)
{
    Elab *e = s->e;
    OpList list = {0};
    Span at = e->line[LINE_micro_batches]->at;
    vec_push(e->arena, &list,
             emit_constant(e, at, &loss->results.at[0]->type, 0));
    for (int i = 0; i < s->nweight; i++) {
        const Op *w = s->weight[i];
        Op *zero = emit_constant(e, at, &w->type, 0);
        vec_push(e->arena, &list, emit_shard(e, at, zero, &w->sharding));
    }
    for (int i = 0; i < s->nweight; i++)
        vec_push(e->arena, &list, s->weight[i]);
    vec_push(e->arena, &list, count);
    for (int i = 0; i < s->ninput; i++)
        vec_push(e->arena, &list,
                 cut(e, s->input[i], loss->ops.at[i], e->parts));
    return list;
}

static bool check_cut(Step *s)
{
    Elab *e = s->e;
    Span at = e->line[LINE_micro_batches]->at;
    int before = e->diag->nerror;
    if (!s->whole->count)
        elab_fail(e, at,
                  "micro_batches adds up parts of the loss: set `total` and "
                  "`count`, whose quotient it is, and not `loss`");
    for (int i = 0; i < s->ninput; i++)
        if (s->input[i]->type.rank == MAX_RANK)
            elab_fail(e, at, "input %s has too many dimensions to be cut",
                      s->input[i]->name);
    return e->diag->nerror == before;
}

void micro_gradients(Step *s)
{
    Elab *e = s->e;
    const Elab *part = check_cut(s) ? elab_part(s->whole) : NULL;
    Op *count = part ? whole_count(s) : NULL;
    Func *body = count ? build_body(s, part->main) : NULL;
    if (!body)
        return;
    part->main->results.n = 1;
    part->main->result_names.n = 0;
    Span at = e->line[LINE_micro_batches]->at;
    OpList list = operands_of(s, part->main, count);
    Op *op = emit(e, at, OP_scan, list.n, list.at);
    op_set_str(e->func, op, A_body, body->name);
    op_set_int(e->func, op, A_trip, e->parts);
    op_set_int(e->func, op, A_carry, 1 + s->nweight);
    op_set_int(e->func, op, A_stacked, s->ninput);
    if (!emit_done(e, op))
        return;
    s->loss = op;
    for (int i = 0; i < s->nweight; i++)
        s->gradient[i] = step_result(e, op, i + 1);
}
