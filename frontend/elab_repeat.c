// repeat moe: moe_layers { x = layer(x) }: the body becomes a function, the
// loop a scan. Variables that it sets are carried from layer to layer; others
// from outside become invariants, weights declared inside are stacked.
#include <string.h>

#include "frontend/elab.h"

enum {
    MAX_LAYERS = 1 << 20,
};

typedef struct Carried {
    const char *name;
    Span at;     // of the assignment
    Value start; // before the loop
} Carried;

typedef VEC(Carried) CarriedList;

// The variables from outside that the statements assign.
static void find_carried(Elab *e, const Stmts *stmts, CarriedList *list)
{
    for (int i = 0; i < stmts->n; i++) {
        const Stmt *s = stmts->at[i];
        if (s->kind == STMT_IF) {
            Value c = eval_scalar(e, s->value);
            if (c.kind == VALUE_BOOL)
                find_carried(e, c.number != 0 ? &s->body : &s->otherwise, list);
        }
        if (s->kind == STMT_REPEAT)
            find_carried(e, &s->body, list);
        for (int k = 0; s->kind == STMT_ASSIGN && k < s->targets.n; k++) {
            const Name *name = &s->targets.at[k].name;
            const Value *v = scope_find(e, name->s);
            bool known = !v || v->kind != VALUE_TENSOR;
            for (int c = 0; c < list->n; c++)
                known |= strcmp(list->at[c].name, name->s) == 0;
            if (!known)
                vec_push(e->arena, list, ((Carried){.name = name->s, .at = name->at}));
        }
    }
}

Value repeat_capture(Elab *e, const char *name, Value v)
{
    Repeat *r = e->repeat;
    for (int i = 0; i < r->invariants.n; i++) {
        if (r->invariants.at[i].outer == v.op) {
            v.op = r->invariants.at[i].inner;
            return v;
        }
    }
    Op *inner =
        emit_param(e, e->func, v.op->at, e->func->nparam, name, &v.op->type);
    vec_push(e->arena, &r->invariants, ((Link){v.op, inner}));
    v.op = inner;
    return v;
}

// Carried, invariants, stacked: of the body or of the outside.
static OpList operands(Elab *e, const Repeat *r, const CarriedList *carried,
                       bool inner)
{
    OpList list = {0};
    for (int i = 0; i < carried->n; i++)
        vec_push(e->arena, &list,
                 inner ? r->carried.at[i] : carried->at[i].start.op);
    for (int i = 0; i < r->invariants.n; i++) {
        const Link *l = &r->invariants.at[i];
        vec_push(e->arena, &list, inner ? l->inner : l->outer);
    }
    for (int i = 0; i < r->stacked.n; i++) {
        const Link *l = &r->stacked.at[i];
        vec_push(e->arena, &list, inner ? l->inner : l->outer);
    }
    return list;
}

// The value a variable has after the body is the one it is carried as.
static bool end_carried(Elab *e, Func *body, const Repeat *r, const Carried *c)
{
    const Value *found = scope_find(e, c->name);
    Value end = use(e, c->at, *found);
    if (end.kind != VALUE_TENSOR)
        return false;
    const Type *before = &c->start.op->type, *after = &end.op->type;
    vec_push(e->module->arena, &body->results, end.op);
    if (type_equal(before, after))
        return true;
    elab_fail(e, c->at, "%s is %s before repeat %s and %s after its body",
              c->name, type_string(e->arena, &e->module->mesh, before, NULL),
              r->name, type_string(e->arena, &e->module->mesh, after, NULL));
    return false;
}

// Elaborates the body; false if its results cannot be carried.
static bool run_body(Elab *e, const Stmt *s, Func *body, Repeat *r,
                     const CarriedList *list)
{
    Scope scope = {.outer = e->scope, .func = body};
    Func *func = e->func;
    bool ok = true;
    e->func = body;
    e->scope = &scope;
    e->repeat = r;
    for (int i = 0; i < list->n; i++) {
        const Carried *c = &list->at[i];
        Value v = c->start;
        v.op = emit_param(e, body, v.op->at, i, c->name, &v.op->type);
        vec_push(e->arena, &r->carried, v.op);
        scope_set(e, c->name, v);
    }
    run_stmts(e, &s->body);
    for (int i = 0; i < list->n; i++)
        ok &= end_carried(e, body, r, &list->at[i]);
    e->repeat = NULL;
    e->scope = scope.outer;
    e->func = func;
    OpList order = operands(e, r, list, true);
    emit_order_params(body, order.n, order.at);
    return ok;
}

static Op *emit_scan(Elab *e, const Stmt *s, const Func *body, const Repeat *r,
                     const CarriedList *carried)
{
    OpList list = operands(e, r, carried, false);
    Op *op = emit(e, s->at, OP_scan, list.n, list.at);
    op_set_str(e->func, op, A_body, body->name);
    op_set_int(e->func, op, A_trip, r->n);
    op_set_int(e->func, op, A_carry, carried->n);
    op_set_int(e->func, op, A_stacked, r->stacked.n);
    if (s->remat)
        op_set_str(e->func, op, A_remat, s->remat);
    return emit_done(e, op) ? op : NULL;
}

// The count and the names that the rest hangs on; false: there is no loop.
static bool read_head(Elab *e, const Stmt *s, Repeat *r)
{
    const Name *name = &s->names.at[0];
    if (e->repeat) {
        elab_fail(e, s->at,
                  "repeat %s stands in repeat %s; a repeat in a "
                  "repeat is not supported",
                  r->name, e->repeat->name);
        return false;
    }
    if (strcmp(r->name, "opt") == 0 && train_sets(e->program, "optimizer"))
        elab_fail(e, name->at,
                  "the states of the optimizer are called opt.NAME; give the "
                  "repeat another name");
    const char *what = arena_printf(e->arena, "the count of repeat %s", r->name);
    r->size = expr_text(e, s->value);
    r->logical = s->value->kind == EXPR_NAME ? s->value->name : NULL;
    return value_int(e, eval_scalar(e, s->value), s->value->at, what, 0,
                     MAX_LAYERS, &r->n) &&
           r->n > 0;
}

// Result i of the loop is what variable i is afterwards.
static void set_results(Elab *e, Op *loop, const CarriedList *list, Span at)
{
    for (int i = 0; i < list->n; i++) {
        Value v = list->at[i].start;
        v.op = loop;
        if (loop && i) {
            v.op = emit(e, at, OP_result, 1, &loop);
            op_set_int(e->func, v.op, A_index, i);
            emit_done(e, v.op);
        }
        v.kind = loop ? VALUE_TENSOR : VALUE_BAD;
        if (loop)
            v.op->name = func_unique_name(e->func, list->at[i].name);
        scope_set(e, list->at[i].name, v);
    }
}

void run_repeat(Elab *e, const Stmt *s)
{
    Repeat r = {.name = s->names.at[0].s, .outer = e->scope, .frame = e->frame};
    CarriedList list = {0};
    if (!read_head(e, s, &r))
        return;
    check_policy(e, s);
    find_carried(e, &s->body, &list);
    if (list.n == 0) {
        elab_fail(e, s->at, "the repeat changes no variable from outside it");
        return;
    }
    bool ok = true;
    for (int i = 0; i < list.n; i++) {
        Value *start = &list.at[i].start;
        *start = use(e, s->at, *scope_find(e, list.at[i].name));
        ok &= start->op != NULL;
    }
    Func *body = func_new(e->module, unique_func(e, r.name));
    Op *op = NULL;
    if (ok && run_body(e, s, body, &r, &list)) {
        check_saved(e, s, body);
        op = emit_scan(e, s, body, &r, &list);
    }
    set_results(e, op, &list, s->at);
}
