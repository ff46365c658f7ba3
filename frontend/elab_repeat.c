// repeat moe: moe_layers { x = layer(x) }: the body becomes a function, the
// loop a scan. One variable is carried from layer to layer; others from
// outside become invariants, weights declared inside are stacked.
#include <string.h>

#include "frontend/elab.h"

enum {
    MAX_LAYERS = 1 << 20,
};

typedef struct Carried {
    const char *name;
    Span at; // of the assignment
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
                vec_push(e->arena, list, ((Carried){name->s, name->at}));
        }
    }
}

static const Carried *the_carried(Elab *e, const Stmt *s, CarriedList *list)
{
    find_carried(e, &s->body, list);
    if (list->n == 1)
        return &list->at[0];
    if (list->n == 0)
        elab_fail(e, s->at, "the repeat changes no variable from outside it");
    else
        elab_fail(e, list->at[1].at,
                  "repeat %s carries %s and %s; only one variable may change "
                  "from layer to layer",
                  s->names.at[0].s, list->at[0].name, list->at[1].name);
    return NULL;
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

typedef VEC(Op *) OpList;

// Carried, invariants, stacked: of the body or of the outside.
static OpList operands(Elab *e, const Repeat *r, Op *carried, bool inner)
{
    OpList list = {0};
    vec_push(e->arena, &list, carried);
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

// Elaborates the body; false if its result cannot be carried.
static bool run_body(Elab *e, const Stmt *s, Func *body, Repeat *r,
                     const Carried *c, const Value *start)
{
    Scope scope = {.outer = e->scope, .func = body};
    Func *func = e->func;
    Value v = *start;
    e->func = body;
    e->scope = &scope;
    e->repeat = r;
    v.op = r->carried =
        emit_param(e, body, start->op->at, 0, c->name, &start->op->type);
    scope_set(e, c->name, v);
    run_stmts(e, &s->body);
    Value end = *scope_find(e, c->name);
    e->repeat = NULL;
    e->scope = scope.outer;
    e->func = func;
    if (end.kind != VALUE_TENSOR)
        return false;
    const Type *before = &start->op->type, *after = &end.op->type;
    if (!type_equal(before, after)) {
        elab_fail(
            e, c->at, "%s is %s before repeat %s and %s after its body",
            c->name, type_string(e->arena, &e->module->mesh, before, NULL),
            r->name, type_string(e->arena, &e->module->mesh, after, NULL));
        return false;
    }
    OpList order = operands(e, r, r->carried, true);
    emit_order_params(body, order.n, order.at);
    vec_push(e->module->arena, &body->results, end.op);
    return true;
}

static Op *emit_scan(Elab *e, const Stmt *s, const Func *body, const Repeat *r,
                     Op *start)
{
    OpList list = operands(e, r, start, false);
    Op *op = emit(e, s->at, OP_scan, list.n, list.at);
    op_set_str(e->func, op, A_body, body->name);
    op_set_int(e->func, op, A_trip, r->n);
    op_set_int(e->func, op, A_carry, 1);
    op_set_int(e->func, op, A_stacked, r->stacked.n);
    return emit_done(e, op) ? op : NULL;
}

static const char *body_name(Elab *e, const char *name)
{
    const char *unique = name;
    for (int n = 2; module_find(e->module, unique); n++)
        unique = arena_printf(e->module->arena, "%s.%d", name, n);
    return unique;
}

void run_repeat(Elab *e, const Stmt *s)
{
    Repeat r = {.name = s->names.at[0].s, .outer = e->scope, .frame = e->frame};
    CarriedList list = {0};
    if (e->repeat) {
        elab_fail(e, s->at,
                  "repeat %s stands in repeat %s; a repeat in a "
                  "repeat is not supported",
                  r.name, e->repeat->name);
        return;
    }
    const char *what = arena_printf(e->arena, "the count of repeat %s", r.name);
    r.size = expr_text(e, s->value);
    r.logical = s->value->kind == EXPR_NAME ? s->value->name : NULL;
    if (!value_int(e, eval_scalar(e, s->value), s->value->at, what, 0,
                   MAX_LAYERS, &r.n) ||
        r.n == 0)
        return;
    const Carried *c = the_carried(e, s, &list);
    if (!c)
        return;
    Value start = use(e, s->at, *scope_find(e, c->name));
    Func *body = func_new(e->module, body_name(e, r.name));
    Op *op = NULL;
    if (start.op && run_body(e, s, body, &r, c, &start))
        op = emit_scan(e, s, body, &r, start.op);
    start.op = op;
    start.kind = op ? VALUE_TENSOR : VALUE_BAD;
    if (op)
        op->name = func_unique_name(e->func, c->name);
    scope_set(e, c->name, start);
}
