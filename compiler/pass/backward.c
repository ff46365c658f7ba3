#include "pass/backward.h"

#include <string.h>

static bool is_float(const Op *op)
{
    return dtype_is_float(op->type.dtype);
}

static bool any_active(const Tape *t, const Op *op)
{
    for (int i = 0; i < op->noperand; i++)
        if (t->is_active[op->operand[i]->id])
            return true;
    return false;
}

// A loop's results may be active each on its own.
static bool result_active(const Tape *t, const Op *loop, int index)
{
    const LoopTape *lt = t->loop[loop->id];
    const Op *left = lt->loop.body->results.at[index];
    if (!is_float(left))
        return false;
    return !loop_stacks_result(&lt->loop, index) ? lt->is_active[index]
                                                 : true;
}

static void find_active_loop(Tape *t, const Op *op)
{
    LoopTape *lt = arena_new(t->x->c->arena, LoopTape, 1);
    bool *wanted = arena_new(t->x->c->arena, bool, (size_t)op->noperand + 1);
    for (int i = 0; i < op->noperand; i++)
        wanted[i] = t->is_active[op->operand[i]->id];
    lt->loop = loop_of(t->f->module, op);
    lt->is_active = loop_active(t->x, &lt->loop, wanted);
    t->loop[op->id] = lt;
    t->is_active[op->id] = result_active(t, op, 0);
}

static void find_active(Tape *t, const bool wanted[])
{
    for_each_op (op, t->f) {
        int index;
        if (op_role(op) == ROLE_argument)
            t->is_active[op->id] = wanted[op->id] && is_float(op);
        else if (op_role(op) == ROLE_loop && any_active(t, op))
            find_active_loop(t, op);
        else if (op_role(op) == ROLE_result) {
            const Op *loop = result_loop(op, &index);
            t->is_active[op->id] =
                t->loop[loop->id] && result_active(t, loop, index);
        } else
            t->is_active[op->id] = is_float(op) &&
                                   !op_info[op->code]->is_flat &&
                                   any_active(t, op);
    }
}

Tape *tape_new(Rewriter *x, const Func *f, Func *out, const bool wanted[])
{
    Arena *a = x->c->arena;
    size_t n = (size_t)f->ops.n;
    Tape *t = arena_new(a, Tape, 1);
    *t = (Tape){.x = x,
                .f = f,
                .out = out,
                .to = arena_new(a, Op *, n),
                .ct = arena_new(a, Op *, n),
                .is_active = arena_new(a, bool, n),
                .loop = arena_new(a, LoopTape *, n)};
    find_active(t, wanted);
    return t;
}

void tape_forward(Tape *t)
{
    for_each_op (op, t->f) {
        if (t->to[op->id])
            continue;
        if (t->loop[op->id])
            loop_forward(t, op);
        else
            t->to[op->id] = rewrite_op(t->x, t->out, op, t->to);
    }
}

void tape_add(Tape *t, const Op *value, Op *ct)
{
    if (ct && t->is_active[value->id])
        t->ct[value->id] = build_sum(t->out, t->ct[value->id], ct);
}

void set_places(Func *out, int from, const Op *like)
{
    for (int i = from; i < out->ops.n; i++) {
        Op *op = out->ops.at[i];
        if (op->place || op->at.source)
            continue;
        op->at = like->at;
        op->place = like->place;
    }
}

// "w -> h -> floor": how an op hangs on what is differentiated by.
static const char *path_to(const Tape *t, const Op *op)
{
    Arena *a = t->x->c->arena;
    const char *path = op_info[op->code]->name;
    while (op->noperand) {
        const Op *from = NULL;
        for (int i = 0; i < op->noperand && !from; i++)
            if (t->is_active[op->operand[i]->id])
                from = op->operand[i];
        if (!from)
            break;
        if (from->name)
            path = arena_printf(a, "%s -> %s", from->name, path);
        op = from;
    }
    return path;
}

// The op as it stands in out, with the operands that the gradient reads: where
// the value was saved, its own op is not there.
static Op *shadow_of(Tape *t, const Op *op)
{
    Op *shadow = arena_new(t->x->m->arena, Op, 1);
    *shadow = *op;
    shadow->operand = op_map_operands(t->x->m->arena, op, t->to);
    shadow->sharding = op->sharding;
    return shadow;
}

static void replace_operand(Func *out, int from, const Op *old, Op *new)
{
    for (int i = from; i < out->ops.n; i++)
        for (int k = 0; k < out->ops.at[i]->noperand; k++)
            if (out->ops.at[i]->operand[k] == old)
                out->ops.at[i]->operand[k] = new;
}

static void op_backward(Tape *t, const Op *op)
{
    const OpInfo *info = op_info[op->code];
    Op **out = arena_new(t->x->c->arena, Op *, (size_t)op->noperand + 1);
    if (!info->grad) {
        if (t->x->is_trial)
            return;
        diag_error(t->x->c->diag, op->at,
                   "%s has no derivative, and the loss depends on a weight "
                   "through it: %s; stop_gradient() says that this is meant",
                   info->name, path_to(t, op));
        return;
    }
    int first = t->out->ops.n;
    Op *shadow = shadow_of(t, op);
    info->grad(t->out, shadow, t->ct[op->id], out);
    replace_operand(t->out, first, shadow, t->to[op->id]);
    for (int i = 0; i < op->noperand; i++)
        tape_add(t, op->operand[i], out[i]);
}

// A function with a backward of its own: that takes the operands, the result
// and its cotangent.
static void call_backward(Tape *t, const Op *op)
{
    Arena *a = t->x->c->arena;
    const Func *back = module_find(t->f->module, op_str(op, A_backward));
    Op **argument = arena_new(a, Op *, (size_t)op->noperand + 2);
    for (int i = 0; i < op->noperand; i++)
        argument[i] = t->to[op->operand[i]->id];
    argument[op->noperand] = t->to[op->id];
    argument[op->noperand + 1] = t->ct[op->id];
    Op **ct = inline_func(t->x, t->out, back, argument);
    for (int i = 0, k = 0; i < op->noperand; i++)
        if (is_float(op->operand[i]))
            tape_add(t, op->operand[i], ct[k++]);
}

void tape_backward(Tape *t)
{
    for (int i = t->f->ops.n - 1; i >= t->f->nparam; i--) {
        const Op *op = t->f->ops.at[i];
        Op *ct = t->ct[i];
        int first = t->out->ops.n;
        if (!t->is_active[i] && !t->loop[i])
            continue;
        if (ct && op->name && !ct->name && op_role(ct) != ROLE_argument)
            ct->name = func_unique_name(
                t->out, arena_printf(t->x->m->arena, "d.%s", op->name));
        if (t->loop[i])
            loop_backward(t, op);
        else if (!ct || op_role(op) == ROLE_result)
            continue; // a result's cotangent waits for its loop
        else if (op_role(op) == ROLE_call)
            call_backward(t, op);
        else
            op_backward(t, op);
        set_places(t->out, first, op);
    }
}

// A product's f32 sum is what the gradient is made of, not that rounded to
// bf16; or it is rounded before it is summed over devices.
static Op *keep_exact(Rewriter *x, Func *out, Op *ct)
{
    if (ct->code == OP_add && ct->type.dtype == DT_f32) {
        Op *a = keep_exact(x, out, ct->operand[0]);
        Op *b = keep_exact(x, out, ct->operand[1]);
        return a == ct->operand[0] && b == ct->operand[1]
                   ? ct
                   : build_binary(out, OP_add, a, b);
    }
    if (ct->code != OP_convert || ct->type.dtype != DT_f32)
        return ct;
    Op *product = ct->operand[0];
    if (product->code == OP_convert &&
        product->operand[0]->type.dtype == DT_f32 && !x->is_narrow)
        return product->operand[0];
    if (!op_info[product->code]->widens || product->type.dtype != DT_bf16)
        return ct;
    Op *copy = func_copy_op(out, product, product->operand);
    copy->name = NULL;
    op_set_str(out, copy, A_dtype, x->is_narrow ? "bf16" : "f32");
    copy->type.dtype = x->is_narrow ? DT_bf16 : DT_f32;
    return build_convert(out, copy, DT_f32);
}

Op *weight_gradient(Rewriter *x, Func *out, const Op *weight, Op *ct)
{
    int first = out->ops.n;
    if (!ct)
        ct = build_zeros(out, &weight->type);
    ct = build_shard(out, keep_exact(x, out, ct), &weight->sharding);
    if (weight->name)
        ct->name = func_unique_name(
            out, arena_printf(x->m->arena, "d.%s", weight->name));
    set_places(out, first, weight);
    return ct;
}
