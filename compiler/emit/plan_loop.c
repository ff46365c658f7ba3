// Loops in a plan: where what they carry and what they leave behind lies.
//
// A carried value has one buffer from turn to turn; the body computes the next
// value there if nothing that is read later lies there. What each turn leaves
// is computed in its slice of the stack. Weights and states that a training
// step replaces are carried in the same way, from step to step.
#include <assert.h>

#include "emit/value.h"
#include "ir/loop.h"

static bool is_own(const Frame *f, const Value *v)
{
    return v >= f->value && v < f->value + f->func->ops.n;
}

// Whether another op picks the same result of the loop.
static bool is_picked_twice(const Frame *f, const Op *op)
{
    int index, other;
    const Op *loop = result_loop(op, &index);
    for_each_op (user, f->func)
        if (user != op && op_lower(user) == LOWER_result &&
            result_loop(user, &other) == loop && other == index)
            return true;
    return false;
}

// Memory for a carried value, holding its first value: that value's own, if
// nothing else uses it.
static Buffer *start_carry(Frame *f, const Op *op, int i)
{
    const Op *operand = op->operand[i];
    Value *first = &f->value[operand->id];
    Lowering how = value_lower(first);
    if (first->kind == VALUE_stored && first->edges.n == 1 &&
        how != LOWER_param &&
        !(how == LOWER_result && is_picked_twice(f, operand)))
        return first->buffer;
    Buffer *carry = value_buffer(f, op);
    plan_kernel(f->plan, copy_kernel(f, operand, carry));
    return carry;
}

static void bind_params(Frame *f, Frame *body, const Loop *l)
{
    for (int i = 0; i < l->op->noperand; i++) {
        const Op *param = body->func->ops.at[i];
        Value *v = &body->value[i];
        View points = view_identity(&param->type), base;
        if (i < l->carry) {
            v->kind = VALUE_stored;
            v->buffer = f->value[l->op->id].result[i];
            continue;
        }
        int64_t slice = type_count(&param->type);
        if (loop_stacks_operand(l, i) && l->trip > 0) {
            points.at = l->is_reverse ? (l->trip - 1) * slice : 0;
            view_add_turn(&points, l->trip, l->is_reverse ? -slice : slice);
        }
        v->kind = VALUE_view;
        v->source = value_base(f, l->op->operand[i], &base);
        bool ok = view_compose(&points, &base, &v->view);
        assert(ok);
        (void)ok;
    }
}

// --- what is carried ---------------------------------------------------------

// Whether step i reads the carried value so that it cannot be written there.
static bool step_reads(const Plan *p, int i, const Buffer *carry, bool writes)
{
    const Step *s = &p->steps.at[i];
    if (s->kind == RT_LOOP)
        return false; // its steps follow
    if (s->kind == RT_COLLECTIVE)
        return buffer_root(p->transfers.at[s->index]->source) == carry;
    const Kernel *k = p->kernels.at[s->index];
    for (int n = 1; n < k->access.n; n++) {
        Buffer *b = k->access.at[n].buffer;
        if (b && buffer_root(b) == carry &&
            !(writes && kernel_reads_in_place(k, n)))
            return true;
    }
    return false;
}

static bool step_writes(const Plan *p, int i, const Buffer *b)
{
    const Step *s = &p->steps.at[i];
    if (s->kind == RT_COLLECTIVE)
        return buffer_root(p->transfers.at[s->index]->result) == b;
    return s->kind == RT_KERNEL &&
           buffer_root(p->kernels.at[s->index]->access.at[0].buffer) == b;
}

// Whether the steps from `begin` on may write `next` where the carried value
// lies: nothing reads that any more.
static bool can_replace(const Plan *p, int begin, const Buffer *next,
                        const Buffer *carry)
{
    int i = begin;
    while (i < p->steps.n && !step_writes(p, i, next))
        i++;
    bool first = true;
    for (int around; (around = loop_around(p, i)) > begin; first = false)
        i = around - 1; // what is written in a loop is, in every turn
    for (; i < p->steps.n; i++, first = false)
        if (step_reads(p, i, carry, first))
            return false;
    return true;
}

// What a result shows, and whether it is a whole buffer that was computed in
// this function.
typedef struct Shown {
    Value *value;
    Buffer *root;
    bool is_whole, is_computed;
} Shown;

static Shown show(Frame *f, const Op *op)
{
    View view;
    Shown s = {.value = value_base(f, op, &view)};
    s.root = buffer_root(s.value->buffer);
    s.is_whole = view_is_identity(&view);
    s.is_computed = s.is_whole && is_own(f, s.value) && !s.root->is_kept &&
                    s.value->buffer == s.root &&
                    value_lower(s.value) != LOWER_param;
    return s;
}

// Whether another result still has to be read from what carry i holds.
static bool is_wanted(Frame *f, int n, const Carry carry[], int i)
{
    for (int k = 0; k < n; k++)
        if (k != i && show(f, carry[k].result).root ==
                          buffer_root(carry[i].buffer))
            return true;
    return false;
}

// A copy in memory of its own.
static void set_aside(Frame *f, const Op *op)
{
    Plan *p = f->plan;
    Buffer *copy = value_buffer(f, op);
    plan_kernel(p, copy_kernel(f, op, copy));
    f->value[op->id] =
        (Value){.op = op, .kind = VALUE_stored, .buffer = copy};
}

void finish_carries(Frame *f, int begin, int n, const Carry carry[])
{
    bool *done = arena_new(f->plan->arena, bool, (size_t)n + 1);
    for (int i = 0; i < n; i++) {
        Shown s = show(f, carry[i].result);
        Buffer *root = buffer_root(carry[i].buffer);
        done[i] = s.root == root && s.is_whole;
        if (done[i] || !s.is_computed || s.root->bytes != root->bytes ||
            is_wanted(f, n, carry, i) ||
            !can_replace(f->plan, begin, s.root, root))
            continue;
        s.root->alias = root;
        done[i] = true;
    }
    for (int i = 0; i < n; i++) {
        bool is_held = false; // where something is carried
        for (int k = 0; k < n; k++)
            is_held |= show(f, carry[i].result).root ==
                       buffer_root(carry[k].buffer);
        if (!done[i] && is_held)
            set_aside(f, carry[i].result);
    }
    for (int i = 0; i < n; i++)
        if (!done[i])
            plan_kernel(f->plan,
                        copy_kernel(f, carry[i].result, carry[i].buffer));
}

// --- what is left behind -----------------------------------------------------

// The slice of a stack that a turn fills.
static Buffer *slice_of(Plan *p, const Loop *l, int i, Buffer *stack)
{
    int64_t bytes = type_bytes(&l->body->results.at[i]->type);
    Buffer *b = plan_buffer(p, stack->name, BUFFER_saved, bytes);
    b->is_kept = false;
    b->alias = stack;
    b->start = l->is_reverse && l->trip ? (l->trip - 1) * bytes : 0;
    b->step = l->is_reverse ? -bytes : bytes;
    return b;
}

static bool has_loop(const Func *f)
{
    for_each_op (op, f)
        if (op_lower(op) == LOWER_loop)
            return true;
    return false;
}

// Whether a result can be computed in its slice: it is a value of this turn
// alone, in memory of its own that no inner loop reads.
static bool is_direct(Frame *body, const Loop *l, int i)
{
    View view;
    const Op *op = l->body->results.at[i];
    Value *v = value_base(body, op, &view);
    Lowering how = value_lower(v);
    if (!is_own(body, v) || !view_is_identity(&view) || v->buffer ||
        v->kind != VALUE_stored || how == LOWER_param || how == LOWER_loop ||
        how == LOWER_result || has_loop(l->body))
        return false;
    for (int k = 0; k < l->carry; k++)
        if (value_base(body, l->body->results.at[k], &view) == v)
            return false;
    return true;
}

// Whether a result is there before the body runs; then it is copied at once,
// before what it is carried in is replaced.
static bool is_early(Frame *body, const Op *op)
{
    View view;
    const Value *v = value_base(body, op, &view);
    return !is_own(body, v) || (v->op->id < body->func->nparam && v->buffer);
}

static void plan_stacks(Frame *body, const Loop *l, Buffer *const slice[],
                        bool done[])
{
    for (int i = l->carry; i < l->body->results.n; i++) {
        View view;
        const Op *op = l->body->results.at[i];
        if (is_direct(body, l, i)) {
            value_base(body, op, &view)->buffer = slice[i];
            done[i] = true;
        } else if (is_early(body, op)) {
            plan_kernel(body->plan, copy_kernel(body, op, slice[i]));
            done[i] = true;
        }
    }
}

// --- the loop ----------------------------------------------------------------

static void add_buffers(Frame *f, Value *v, const Loop *l, Buffer *slice[])
{
    Plan *p = f->plan;
    int n = l->body->results.n;
    v->result = arena_new(p->arena, Buffer *, (size_t)n + 1);
    for (int i = 0; i < l->carry; i++)
        v->result[i] = start_carry(f, l->op, i);
    for (int i = l->carry; i < n; i++) {
        const Op *left = l->body->results.at[i];
        const char *name = arena_printf(
            p->arena, "%s.%s", l->body->name,
            left->name ? left->name : arena_printf(p->arena, "%d", left->id));
        v->result[i] = plan_buffer(p, name, BUFFER_saved,
                                   l->trip * type_bytes(&left->type));
        v->result[i]->is_kept = false;
        slice[i] = slice_of(p, l, i, v->result[i]);
    }
    v->buffer = v->result[0];
}

Buffer *loop_buffer(Frame *f, const Op *result)
{
    int index;
    const Op *loop = result_loop(result, &index);
    return f->value[loop->id].result[index];
}

void plan_loop(Frame *f, Value *v)
{
    Plan *p = f->plan;
    Loop l = loop_of(p->module, v->op);
    int n = l.body->results.n;
    Buffer **slice = arena_new(p->arena, Buffer *, (size_t)n + 1);
    bool *done = arena_new(p->arena, bool, (size_t)n + 1);
    Carry *carry = arena_new(p->arena, Carry, (size_t)l.carry + 1);
    add_buffers(f, v, &l, slice);
    Frame *body = new_frame(p, l.body, f);
    bind_params(f, body, &l);
    int loop = p->steps.n;
    plan_step(p, RT_LOOP, 0, l.trip);
    fuse_values(body);
    plan_stacks(body, &l, slice, done);
    plan_ops(body);
    for (int i = l.carry; i < n; i++)
        if (!done[i])
            plan_kernel(p, copy_kernel(body, l.body->results.at[i], slice[i]));
    for (int i = 0; i < l.carry; i++)
        carry[i] = (Carry){l.body->results.at[i], v->result[i]};
    finish_carries(body, loop + 1, l.carry, carry);
    p->steps.at[loop].index = p->steps.n - loop - 1;
}
