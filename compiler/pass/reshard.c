// Expands each reshard of a SHARDED module into the planner's collectives.
//
// Plans that begin alike share their first steps: a collective of the same
// value with the same result stands once.
#include <string.h>

#include "pass/pass.h"
#include "pass/planner.h"

typedef struct Expand {
    PassContext *c;
    Func *out;
    Op **to;
} Expand;

// The collective that already makes this of `value`, or NULL.
static Op *find_same(const Func *f, const Op *value, const Step *step)
{
    for (int i = f->ops.n - 1; i > value->id; i--) {
        Op *op = f->ops.at[i];
        if (op_role(op) == ROLE_collective && op->operand[0] == value &&
            op->code == step->code &&
            sharding_equal(&op->sharding, &step->result, op->type.rank))
            return op;
    }
    return NULL;
}

// Only what sends something gets an id; a slice is free.
static void set_attrs(Func *f, Op *op, const Step *step)
{
    const Sharding *in = &op->operand[0]->sharding;
    bool reduces = in->partial & ~step->result.partial;
    op_set_split(f, op, step->to.n ? A_from : A_axes, &step->axes);
    if (step->to.n)
        op_set_split(f, op, A_to, &step->to);
    if (step->split_dim >= 0)
        op_set_int(f, op, A_split_dim, step->split_dim);
    if (step->concat_dim >= 0)
        op_set_int(f, op, A_concat_dim, step->concat_dim);
    if (reduces)
        op_set_str(f, op, A_combine, combiner_name[in->combiner]);
    if (reduces || step->to.n || step->concat_dim >= 0)
        op_set_int(f, op, A_id, ++f->module->next_id);
}

// The reshard's cause; a step after the sum is combined is there for the
// layout alone, and says so.
static const char *step_cause(Expand *x, const Op *op, const Op *reshard)
{
    Arena *a = x->c->arena;
    const char *cause = op_str(reshard, A_cause);
    const char *wish = cause ? strstr(cause, "; ") : NULL;
    const Op *value = op->operand[0];
    if (!wish || !strstr(cause, "leaves a pending") || op_attr(op, A_combine))
        return cause;
    return arena_printf(
        a, "the sum is %s%s",
        type_string(a, &x->out->module->mesh, &value->type, &value->sharding),
        wish);
}

static Op *add_step(Expand *x, Op *value, const Step *step, const Op *reshard)
{
    Op *op = find_same(x->out, value, step);
    if (op)
        return op;
    op = func_add(x->out, step->code, 1, &value);
    op->type = value->type;
    op->sharding = step->result;
    op->at = reshard->at;
    op->place = reshard->place;
    set_attrs(x->out, op, step);
    if (op_str(reshard, A_op))
        op_set_str(x->out, op, A_op, op_str(reshard, A_op));
    const char *cause = step_cause(x, op, reshard);
    if (cause)
        op_set_str(x->out, op, A_cause, cause);
    return op;
}

static void warn_whole(const Expand *x, const Op *value, const Op *reshard)
{
    const char *name = op_str(reshard, A_op);
    const char *cause = op_str(reshard, A_cause);
    diag_warn(x->c->diag, W_whole_tensor, reshard->at,
              "%s gathers the whole of %s: %s", name ? name : "reshard",
              type_string(x->c->arena, &x->out->module->mesh, &value->type,
                          &value->sharding),
              cause ? cause : "");
}

static Op *expand(Expand *x, const Op *reshard)
{
    ReshardPlan plan;
    const Mesh *m = &x->out->module->mesh;
    Op *value = x->to[reshard->operand[0]->id];
    plan_reshard(m, &reshard->type, &value->sharding, &reshard->sharding,
                 &plan);
    if (plan.is_whole)
        warn_whole(x, value, reshard);
    for (int i = 0; i < plan.n; i++)
        value = add_step(x, value, &plan.step[i], reshard);
    if (reshard->name && !value->name)
        value->name = reshard->name;
    return value;
}

static void expand_func(PassContext *c, Module *m, const Func *f)
{
    Expand x = {.c = c,
                .out = func_new(m, f->name),
                .to = arena_new(c->arena, Op *, (size_t)f->ops.n)};
    for_each_op (op, f) {
        if (op_role(op) == ROLE_reshard)
            x.to[op->id] = expand(&x, op);
        else
            x.to[op->id] =
                func_copy_op(x.out, op, op_map_operands(c->arena, op, x.to));
    }
    func_map_results(x.out, f, x.to);
}

// Pending atoms may go away on the way, never come.
static bool check_reshard(PassContext *c, const Op *op)
{
    const Sharding *in = &op->operand[0]->sharding, *out = &op->sharding;
    bool ok = (out->partial & ~in->partial) == 0 &&
              (!out->partial || out->combiner == in->combiner);
    if (!ok)
        diag_error(c->diag, op->at, "a reshard cannot make a value pending");
    return ok;
}

Module *pass_reshard(PassContext *c, Module *m)
{
    bool ok = m->form == FORM_sharded;
    if (!ok)
        diag_error(c->diag, (Span){0}, "reshard wants form sharded, not %s",
                   form_name[m->form]);
    for (int i = 0; ok && i < m->funcs.n; i++)
        for_each_op (op, m->funcs.at[i])
            if (op_role(op) == ROLE_reshard)
                ok &= check_reshard(c, op);
    if (!ok)
        return NULL;
    Module *out = module_new(c->arena, &m->mesh, m->form);
    out->next_id = m->next_id;
    for (int i = 0; i < m->funcs.n; i++)
        expand_func(c, out, m->funcs.at[i]);
    return out;
}
