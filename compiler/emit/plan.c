#include "emit/plan.h"

#include <assert.h>

#include "emit/attention.h"
#include "emit/product.h"
#include "emit/value.h"

static void plan_ops(Frame *f);

static Buffer *value_buffer(Frame *f, const Op *op)
{
    const char *name =
        op->name ? op->name : arena_printf(f->plan->arena, "%d", op->id);
    if (f->outer)
        name = arena_printf(f->plan->arena, "%s.%s", f->func->name, name);
    return plan_buffer(f->plan, name, BUFFER_temporary, type_bytes(&op->type));
}

static void add_step(Plan *p, RtStepKind kind, int index, int64_t trip)
{
    vec_push(p->arena, &p->steps, ((Step){kind, index, trip}));
}

static void add_kernel(Plan *p, Kernel *k)
{
    if (k->product)
        k->scratch_bytes = product_scratch(k);
    if (k->scratch_bytes)
        k->scratch =
            plan_buffer(p, "scratch", BUFFER_temporary, k->scratch_bytes);
    vec_push(p->arena, &p->kernels, k);
    add_step(p, RT_KERNEL, p->kernels.n - 1, 0);
}

// --- single ops --------------------------------------------------------------

// `n` entries of dimension dim, from `at` on, of what an op pads.
static void plan_zeros(Frame *f, Value *v, int64_t at, int64_t n)
{
    int dim = (int)op_int(v->op, A_dim, 0);
    View where = view_identity(&v->op->type);
    where.at = at * where.dim[dim].stride;
    where.dim[dim].size = n;
    if (n)
        add_kernel(f->plan, zero_kernel(f, v->op, v->buffer, &where));
}

static void plan_parts(Frame *f, Value *v)
{
    const Op *op = v->op;
    for (int i = 0; i < op->noperand; i++) {
        View where = op_part_view(op, i);
        add_kernel(f->plan, part_kernel(f, v, i, v->buffer, &where));
    }
    int64_t low = op_int(op, A_low, 0), high = op_int(op, A_high, 0);
    plan_zeros(f, v, 0, low);
    plan_zeros(f, v, op->type.dim[op_int(op, A_dim, 0)] - high, high);
}

// The place in the whole of the first entry of a split dimension.
static void add_place(Frame *f, const Op *op, Kernel *k)
{
    View v = {0};
    const Attr *offset = op_attr(op, A_offset);
    int dim = op_lowering[op->code].placed_dim(op);
    if (offset && offset->split->n)
        view_add_piece(&v, &f->plan->module->mesh, offset->split,
                       op->operand[0]->type.dim[dim]);
    vec_push(f->plan->arena, &k->access, ((Access){NULL, DT_i32, v}));
}

static void plan_special(Frame *f, Value *v)
{
    Arena *a = f->plan->arena;
    Kernel *k = arena_new(a, Kernel, 1);
    View view = view_identity(&v->op->type);
    k->op = v->op;
    vec_push(a, &k->access, ((Access){v->buffer, v->op->type.dtype, view}));
    for (int i = 0; i < value_noperand(v); i++) {
        const Op *operand = v->op->operand[i];
        Value *source = value_base(f, operand, &view);
        assert(source->kind == VALUE_stored);
        vec_push(a, &k->access,
                 ((Access){source->buffer, operand->type.dtype, view}));
    }
    if (op_lowering[v->op->code].placed_dim)
        add_place(f, v->op, k);
    if (op_lowering[v->op->code].scratch)
        k->scratch_bytes = op_lowering[v->op->code].scratch(v->op);
    add_kernel(f->plan, k);
}

static void plan_collective(Frame *f, Value *v)
{
    View view;
    Plan *p = f->plan;
    Value *source = value_base(f, v->op->operand[0], &view);
    Transfer *x = arena_new(p->arena, Transfer, 1);
    int bytes = dtype_bytes[v->op->type.dtype];
    *x = (Transfer){v->op, source->buffer, v->buffer, .at = view.at * bytes};
    for (int i = view.rank; i < view.n; i++)
        x->step += view.dim[i].stride * bytes;
    buffer_root(source->buffer)->is_shared = true;
    vec_push(p->arena, &p->transfers, x);
    add_step(p, RT_COLLECTIVE, p->transfers.n - 1, 0);
}

// --- loops -------------------------------------------------------------------

// Memory for the carried value, holding its first value: that value's own, if
// nothing else uses it.
static Buffer *start_carry(Frame *f, const Op *op)
{
    Value *first = &f->value[op->operand[0]->id];
    if (first->kind == VALUE_stored && first->edges.n == 1 &&
        op_lower(first->op) != LOWER_param)
        return first->buffer;
    Buffer *carry = value_buffer(f, op);
    add_kernel(f->plan, copy_kernel(f, op->operand[0], carry));
    return carry;
}

static void bind_params(Frame *f, Frame *body, const Op *op, Buffer *carry)
{
    int first_stacked = op->noperand - (int)op_int(op, A_stacked, 0);
    for (int i = 0; i < op->noperand; i++) {
        const Op *param = body->func->ops.at[i];
        Value *v = &body->value[i];
        View points = view_identity(&param->type), base;
        if (i == 0) {
            v->kind = VALUE_stored;
            v->buffer = carry;
            continue;
        }
        if (i >= first_stacked)
            view_add_turn(&points, op_int(op, A_trip, 0),
                          type_count(&param->type));
        v->kind = VALUE_view;
        v->source = value_base(f, op->operand[i], &base);
        bool ok = view_compose(&points, &base, &v->view);
        assert(ok);
        (void)ok;
    }
}

// Whether step i reads the carried value so that it cannot be written there.
static bool step_reads(const Plan *p, int i, const Buffer *carry, bool writes)
{
    const Step *s = &p->steps.at[i];
    if (s->kind == RT_COLLECTIVE)
        return buffer_root(p->transfers.at[s->index]->source) == carry;
    if (s->kind == RT_LOOP)
        return true;
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

// Whether the body's steps from `begin` on may write `next` where the carried
// value lies: nothing reads that any more.
static bool can_replace(const Plan *p, int begin, const Buffer *next,
                        const Buffer *carry)
{
    int i = begin;
    while (i < p->steps.n && !step_writes(p, i, next))
        i++;
    for (bool first = true; i < p->steps.n; i++, first = false)
        if (step_reads(p, i, carry, first))
            return false;
    return true;
}

static void finish_carry(Frame *body, int begin, Buffer *carry)
{
    View view;
    Plan *p = body->plan;
    const Op *result = body->func->results.at[0];
    Value *v = value_base(body, result, &view);
    Buffer *root = buffer_root(carry);
    bool is_own = v >= body->value && v < body->value + body->func->ops.n &&
                  value_lower(v) != LOWER_param && view_is_identity(&view);
    if (buffer_root(v->buffer) == root && view_is_identity(&view))
        return;
    if (is_own && can_replace(p, begin, buffer_root(v->buffer), root)) {
        buffer_root(v->buffer)->alias = root;
        return;
    }
    if (buffer_root(v->buffer) == root) {
        Buffer *copy = value_buffer(body, result);
        add_kernel(p, copy_kernel(body, result, copy));
        v = arena_new(p->arena, Value, 1);
        *v = (Value){.op = result, .kind = VALUE_stored, .buffer = copy};
        body->value[result->id] = *v;
    }
    add_kernel(p, copy_kernel(body, result, carry));
}

static Frame *new_frame(Plan *p, const Func *func, Frame *outer)
{
    Frame *f = arena_new(p->arena, Frame, 1);
    size_t n = (size_t)func->ops.n;
    *f = (Frame){p, func, outer, arena_new(p->arena, Value, n),
                 arena_new(p->arena, Group **, n)};
    for_each_op (op, func)
        f->value[op->id].op = op;
    return f;
}

static void plan_loop(Frame *f, Value *v)
{
    Plan *p = f->plan;
    const Func *func = module_find(p->module, op_str(v->op, A_body));
    Buffer *carry = start_carry(f, v->op);
    Frame *body = new_frame(p, func, f);
    v->buffer = carry;
    bind_params(f, body, v->op, carry);
    int loop = p->steps.n;
    add_step(p, RT_LOOP, 0, op_int(v->op, A_trip, 0));
    fuse_values(body);
    plan_ops(body);
    finish_carry(body, loop + 1, carry);
    p->steps.at[loop].index = p->steps.n - loop - 1;
}

// --- functions ---------------------------------------------------------------

static void plan_op(Frame *f, Value *v)
{
    View identity = view_identity(&v->op->type);
    switch (value_lower(v)) {
    case LOWER_param:
        if (!v->buffer) {
            v->buffer = value_buffer(f, v->op);
            v->buffer->class_ = BUFFER_constant;
            v->buffer->is_kept = true;
            v->buffer->constant = v->op;
        }
        return;
    case LOWER_loop: plan_loop(f, v); return;
    case LOWER_parts:
        v->buffer = value_buffer(f, v->op);
        plan_parts(f, v);
        return;
    case LOWER_kernel:
        v->buffer = value_buffer(f, v->op);
        plan_special(f, v);
        return;
    case LOWER_collective:
        v->buffer = value_buffer(f, v->op);
        plan_collective(f, v);
        return;
    default:
        v->buffer = value_buffer(f, v->op);
        add_kernel(f->plan, root_kernel(f, v, v->buffer, &identity));
    }
}

static void plan_ops(Frame *f)
{
    for (int i = 0; i < f->func->ops.n; i++)
        if (f->value[i].kind == VALUE_stored)
            plan_op(f, &f->value[i]);
}

static Placed placed_of(const Op *op, const char *name, const Placed *given)
{
    if (given)
        return *given;
    return (Placed){.name = name, .type = op->type};
}

static void add_params(Frame *f, const TensorPlacement *placement)
{
    Plan *p = f->plan;
    for (int i = 0; i < f->func->nparam; i++) {
        const Op *op = f->func->ops.at[i];
        const char *class_ = op_str(op, A_class);
        bool is_param = class_ && class_[0] == 'p';
        Placed placed =
            placed_of(op, op->name, placement ? &placement->param[i] : NULL);
        Value *v = &f->value[i];
        v->kind = VALUE_stored;
        v->buffer =
            plan_buffer(p, placed.name, is_param ? BUFFER_param : BUFFER_input,
                        type_bytes(&op->type));
        Tensor t = {placed, op->type, is_param ? RT_PARAM : RT_INPUT, v->buffer,
                    0};
        vec_push(p->arena, &p->tensors, t);
    }
}

static void add_results(Frame *f, const TensorPlacement *placement)
{
    Plan *p = f->plan;
    for (int i = 0; i < f->func->results.n; i++) {
        View view;
        const Op *op = f->func->results.at[i];
        Value *v = value_base(f, op, &view);
        const char *name = i < f->func->result_names.n
                               ? f->func->result_names.at[i]
                               : arena_printf(p->arena, "out%d", i);
        Placed placed =
            placed_of(op, name, placement ? &placement->result[i] : NULL);
        Buffer *b = buffer_root(v->buffer);
        if (b->class_ == BUFFER_temporary)
            b->class_ = BUFFER_output;
        b->is_kept = true;
        Tensor t = {placed, op->type, RT_OUTPUT, v->buffer,
                    view.at * dtype_bytes[op->type.dtype]};
        vec_push(p->arena, &p->tensors, t);
    }
}

Plan *plan_module(Arena *a, const Module *m, const TensorPlacement *placement)
{
    Plan *p = arena_new(a, Plan, 1);
    p->arena = a;
    p->module = m;
    Frame *f = new_frame(p, module_entry(m), NULL);
    add_params(f, placement);
    fuse_values(f);
    plan_ops(f);
    add_results(f, placement);
    place_buffers(p);
    return p;
}
