#include "frontend/tree.h"

#include <math.h>
#include <string.h>

Expr *expr_new(ModelParser *p, ExprKind kind, Span at)
{
    Expr *e = arena_new(p->arena, Expr, 1);
    e->kind = kind;
    e->at = at;
    e->depth = 1;
    return e;
}

// Counts a subtree in the depth of `e`; NULL is none.
static void hold_depth(ModelParser *p, Expr *e, const Expr *sub)
{
    if (!sub || sub->depth < e->depth)
        return;
    e->depth = sub->depth + 1;
    if (e->depth > MAX_EXPR_DEPTH)
        too_deep(p, e->at);
}

static void hold_fields(ModelParser *p, Expr *e, Fields fields)
{
    e->fields = fields;
    for (int i = 0; i < fields.n; i++)
        hold_depth(p, e, fields.at[i].value);
}

static void hold_indexes(ModelParser *p, Expr *e, Indexes index)
{
    e->index = index;
    for (int i = 0; i < index.n; i++) {
        hold_depth(p, e, index.at[i].lo);
        hold_depth(p, e, index.at[i].hi);
    }
}

static void hold_base(ModelParser *p, Expr *e, Expr *base)
{
    e->base = base;
    hold_depth(p, e, base);
}

static void hold_arg(ModelParser *p, Expr *e, Expr *arg)
{
    vec_push(p->arena, &e->args, arg);
    hold_depth(p, e, arg);
}

Expr *expr_name(ModelParser *p, Name name)
{
    Expr *e = expr_new(p, EXPR_NAME, name.at);
    e->name = name.s;
    return e;
}

Expr *expr_number(ModelParser *p, Span at)
{
    Expr *e = expr_new(p, EXPR_NUMBER, at);
    const char *text = arena_strndup(p->arena, p->source->text + at.start,
                                     (size_t)(at.end - at.start));
    e->number = strtod(text, NULL);
    e->is_int = !strpbrk(text, ".eE");
    double limit = e->is_int ? 0x1p53 : HUGE_VAL;
    if (e->number >= limit)
        syntax_error(p, at, "the number is too large");
    return e;
}

Expr *expr_field(ModelParser *p, Span at, Expr *base, Name field)
{
    Expr *e = expr_new(p, EXPR_FIELD, at);
    e->name = field.s;
    hold_base(p, e, base);
    return e;
}

Expr *expr_call(ModelParser *p, Span at, Expr *base, Exprs args, Fields named)
{
    Expr *e = expr_new(p, EXPR_CALL, at);
    hold_base(p, e, base);
    for (int i = 0; i < args.n; i++)
        hold_arg(p, e, args.at[i]);
    hold_fields(p, e, named);
    return e;
}

Expr *expr_index(ModelParser *p, Span at, Expr *base, Indexes index)
{
    Expr *e = expr_new(p, EXPR_INDEX, at);
    hold_base(p, e, base);
    hold_indexes(p, e, index);
    return e;
}

Expr *expr_unary(ModelParser *p, Span at, const char *op, Expr *x)
{
    Expr *e = expr_new(p, EXPR_UNARY, at);
    e->name = op;
    hold_base(p, e, x);
    return e;
}

Expr *expr_binary(ModelParser *p, Span at, const char *op, Expr *x, Expr *y)
{
    Expr *e = expr_new(p, EXPR_BINARY, at);
    e->name = op;
    hold_arg(p, e, x);
    hold_arg(p, e, y);
    return e;
}

Expr *expr_reduce(ModelParser *p, Span at, Name how, Indexes index, Expr *x)
{
    Expr *e = expr_new(p, EXPR_REDUCE, at);
    e->name = how.s;
    hold_base(p, e, x);
    hold_indexes(p, e, index);
    return e;
}

Expr *expr_if(ModelParser *p, Span at, Expr *c, Expr *yes, Expr *no)
{
    Expr *e = expr_new(p, EXPR_IF, at);
    hold_arg(p, e, c);
    hold_arg(p, e, yes);
    hold_arg(p, e, no);
    return e;
}

Expr *expr_struct(ModelParser *p, Span at, Name head, Fields fields)
{
    Expr *e = expr_new(p, EXPR_STRUCT, at);
    e->name = head.s;
    hold_fields(p, e, fields);
    return e;
}

Expr *expr_axes(ModelParser *p, Span at, Axes axes, bool is_mesh)
{
    Expr *e = expr_new(p, EXPR_AXES, at);
    e->axes = axes;
    e->axes.is_mesh = is_mesh;
    e->axes.at = at;
    return e;
}

Index index_of_expr(Expr *e)
{
    if (e->kind == EXPR_NAME)
        return (Index){.kind = INDEX_NAME, .at = e->at, .name = e->name};
    return (Index){.kind = INDEX_EXPR, .at = e->at, .lo = e};
}

Index index_slice(Span at, Expr *lo, Expr *hi)
{
    return (Index){.kind = INDEX_SLICE, .at = at, .lo = lo, .hi = hi};
}

Indexes plain_indexes(ModelParser *p, Indexes index)
{
    for (int i = 0; i < index.n; i++) {
        IndexKind kind = index.at[i].kind;
        if (kind != INDEX_NAME && kind != INDEX_REST)
            syntax_error(p, index.at[i].at,
                         "only names of indices and .. can stand here");
    }
    return index;
}

Stmt *stmt_new(ModelParser *p, StmtKind kind, Span at)
{
    Stmt *s = arena_new(p->arena, Stmt, 1);
    s->kind = kind;
    s->at = at;
    return s;
}

Name name_join(ModelParser *p, Span at, Name a, Name b)
{
    return (Name){arena_printf(p->arena, "%s.%s", a.s, b.s), at};
}

Stmt *repeat_new(ModelParser *p, Name policy, Names saved)
{
    Stmt *s = stmt_new(p, STMT_REPEAT, policy.at);
    const char *list = "";
    for (int i = 0; i < saved.n; i++)
        list = arena_printf(p->arena, "%s%s%s", list, i ? ", " : "",
                            saved.at[i].s);
    s->policy = policy;
    s->saved = saved;
    s->remat = saved.n ? arena_printf(p->arena, "%s(%s)", policy.s, list)
                       : policy.s;
    return s;
}

Stmt *return_push(ModelParser *p, Stmt *s, const Indexes *index, Expr *value)
{
    Target t = {.has_index = index != NULL};
    if (index)
        t.index = plain_indexes(p, *index);
    vec_push(p->arena, &s->targets, t);
    if (!s->value)
        s->value = value;
    else
        vec_push(p->arena, &s->more, value);
    return s;
}

void axes_push(ModelParser *p, Axes *axes, Name name)
{
    Names one = {0};
    vec_push(p->arena, &one, name);
    vec_push(p->arena, &axes->dim, one);
}

void axes_push_list(ModelParser *p, Axes *axes, Names names)
{
    vec_push(p->arena, &axes->dim, names);
}

void add_model(ModelParser *p, Name name)
{
    if (p->program->model.s) {
        syntax_error(p, name.at, "the program has a model name already");
        diag_note(p->diag, p->program->model.at, "it is %s",
                  p->program->model.s);
        return;
    }
    p->program->model = name;
}

void add_train(ModelParser *p, Span at, Stmts body)
{
    Train *t = &p->program->train;
    if (t->present) {
        syntax_error(p, at, "the program has a train block already");
        diag_note(p->diag, t->at, "it is here");
        return;
    }
    *t = (Train){.present = true, .body = body, .at = at};
}

void take_backward(Fn *fn)
{
    if (fn->body.n == 0)
        return;
    const Stmt *last = fn->body.at[fn->body.n - 1];
    if (last->kind != STMT_BACKWARD)
        return;
    fn->backward = last;
    fn->body.n--;
}
