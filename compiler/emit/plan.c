#include "emit/plan.h"

#include <assert.h>
#include <string.h>

#include "emit/attention.h"
#include "emit/product.h"
#include "emit/value.h"

Buffer *value_buffer(Frame *f, const Op *op)
{
    const char *name =
        op->name ? op->name : arena_printf(f->plan->arena, "%d", op->id);
    if (f->outer)
        name = arena_printf(f->plan->arena, "%s.%s", f->func->name, name);
    return plan_buffer(f->plan, name, BUFFER_temporary, type_bytes(&op->type));
}

void plan_step(Plan *p, RtStepKind kind, int index, int64_t trip)
{
    vec_push(p->arena, &p->steps, ((Step){kind, index, trip}));
}

void plan_kernel(Plan *p, Kernel *k)
{
    if (k->product)
        k->scratch_bytes = product_scratch(k);
    if (k->scratch_bytes)
        k->scratch =
            plan_buffer(p, "scratch", BUFFER_temporary, k->scratch_bytes);
    vec_push(p->arena, &p->kernels, k);
    plan_step(p, RT_KERNEL, p->kernels.n - 1, 0);
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
        plan_kernel(f->plan, zero_kernel(f, v->op, v->buffer, &where));
}

static void plan_parts(Frame *f, Value *v)
{
    const Op *op = v->op;
    for (int i = 0; i < op->noperand; i++) {
        View where = op_part_view(op, i);
        plan_kernel(f->plan, part_kernel(f, v, i, v->buffer, &where));
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
    if (offset && offset->split->n)
        view_add_piece(&v, &f->plan->module->mesh, offset->split,
                       op_lowering[op->code].placed(op));
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
    if (op_lowering[v->op->code].placed)
        add_place(f, v->op, k);
    if (op_lowering[v->op->code].scratch)
        k->scratch_bytes = op_lowering[v->op->code].scratch(v->op);
    plan_kernel(f->plan, k);
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
    plan_step(p, RT_COLLECTIVE, p->transfers.n - 1, 0);
}

// --- functions ---------------------------------------------------------------

Frame *new_frame(Plan *p, const Func *func, Frame *outer)
{
    Frame *f = arena_new(p->arena, Frame, 1);
    size_t n = (size_t)func->ops.n;
    *f = (Frame){p, func, outer, arena_new(p->arena, Value, n),
                 arena_new(p->arena, Group **, n)};
    for_each_op (op, func)
        f->value[op->id].op = op;
    return f;
}

// Memory of its own, unless a loop has said where its value goes.
static void give_buffer(Frame *f, Value *v)
{
    if (!v->buffer)
        v->buffer = value_buffer(f, v->op);
}

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
    case LOWER_result: v->buffer = loop_buffer(f, v->op); return;
    case LOWER_parts:
        give_buffer(f, v);
        plan_parts(f, v);
        return;
    case LOWER_kernel:
        give_buffer(f, v);
        plan_special(f, v);
        return;
    case LOWER_collective:
        give_buffer(f, v);
        plan_collective(f, v);
        return;
    default:
        give_buffer(f, v);
        plan_kernel(f->plan, root_kernel(f, v, v->buffer, &identity));
    }
}

void plan_ops(Frame *f)
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

typedef struct ParamClass {
    const char *name; // of the attribute
    BufferClass buffer;
    RtClass tensor;
} ParamClass;

static const ParamClass param_classes[] = {
    {"input", BUFFER_input, RT_INPUT},
    {"param", BUFFER_param, RT_PARAM},
    {"state", BUFFER_state, RT_STATE},
};

static const ParamClass *class_of(const Op *param)
{
    const char *name = op_str(param, A_class);
    for (int i = 1; name && i < 3; i++)
        if (strcmp(name, param_classes[i].name) == 0)
            return &param_classes[i];
    return &param_classes[0];
}

static RtInit init_of(const Op *param)
{
    static const char *const names[] = {"zeros", "ones", "constant", "normal",
                                        "truncated_normal"};
    const char *name = op_str(param, A_init);
    for (int i = 0; name && i < 5; i++)
        if (strcmp(name, names[i]) == 0)
            return (RtInit)i;
    return RT_INIT_ZEROS;
}

static void add_params(Frame *f, const TensorPlacement *placement)
{
    Plan *p = f->plan;
    for (int i = 0; i < f->func->nparam; i++) {
        const Op *op = f->func->ops.at[i];
        const ParamClass *class_ = class_of(op);
        const Attr *scale = op_attr(op, A_scale);
        Placed placed =
            placed_of(op, op->name, placement ? &placement->param[i] : NULL);
        Value *v = &f->value[i];
        v->kind = VALUE_stored;
        v->buffer = plan_buffer(p, placed.name, class_->buffer,
                                type_bytes(&op->type));
        Tensor t = {.placed = placed,
                    .local = op->type,
                    .class_ = class_->tensor,
                    .buffer = v->buffer,
                    .donor = -1,
                    .init = init_of(op),
                    .init_value = scale ? scale->floats[0] : 0};
        vec_push(p->arena, &p->tensors, t);
    }
}

static const char *result_name(const Frame *f, int i)
{
    return i < f->func->result_names.n
               ? f->func->result_names.at[i]
               : arena_printf(f->plan->arena, "out%d", i);
}

// The param whose next value a result is: `param.w` that of the weight w, a
// state's that of its own name. -1 if it is none.
static int find_donor(const Frame *f, int result)
{
    const char *name = result_name(f, result);
    bool is_weight = strncmp(name, "param.", 6) == 0;
    for (int i = 0; i < f->func->nparam; i++) {
        const Op *param = f->func->ops.at[i];
        RtClass class_ = class_of(param)->tensor;
        if (class_ == (is_weight ? RT_PARAM : RT_STATE) &&
            strcmp(param->name, name + (is_weight ? 6 : 0)) == 0)
            return i;
    }
    return -1;
}

// The next values of weights and states go where they are, like what a loop
// carries.
static void plan_donors(Frame *f, int donor[])
{
    Carry *c = arena_new(f->plan->arena, Carry, (size_t)f->func->results.n + 1);
    int n = 0;
    for (int i = 0; i < f->func->results.n; i++) {
        donor[i] = find_donor(f, i);
        if (donor[i] >= 0)
            c[n++] = (Carry){f->func->results.at[i],
                             f->value[donor[i]].buffer};
    }
    finish_carries(f, 0, n, c);
}

static void add_result(Frame *f, int i, int donor, const Placed *given)
{
    View view;
    Plan *p = f->plan;
    const Op *op = f->func->results.at[i];
    Value *v = value_base(f, op, &view);
    Buffer *at = donor >= 0 ? f->value[donor].buffer : v->buffer;
    Buffer *b = buffer_root(at);
    const char *name = result_name(f, i);
    if (b->class_ == BUFFER_temporary || b->class_ == BUFFER_saved)
        b->class_ = strncmp(name, "grad.", 5) == 0 ? BUFFER_gradient
                                                   : BUFFER_output;
    b->is_kept = true;
    Tensor t = {.placed = placed_of(op, name, given),
                .local = op->type,
                .class_ = RT_OUTPUT,
                .buffer = at,
                .at = donor >= 0 ? 0 : view.at * dtype_bytes[op->type.dtype],
                .donor = donor};
    vec_push(p->arena, &p->tensors, t);
}

Plan *plan_module(Arena *a, const Module *m, const TensorPlacement *placement)
{
    Plan *p = arena_new(a, Plan, 1);
    p->arena = a;
    p->module = m;
    p->stores_all = placement && placement->stores_all;
    Frame *f = new_frame(p, module_entry(m), NULL);
    add_params(f, placement);
    fuse_values(f);
    plan_ops(f);
    int *donor = arena_new(a, int, (size_t)f->func->results.n + 1);
    plan_donors(f, donor);
    for (int i = 0; i < f->func->results.n; i++)
        add_result(f, i, donor[i], placement ? &placement->result[i] : NULL);
    place_buffers(p);
    return p;
}
