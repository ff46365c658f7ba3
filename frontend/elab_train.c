// The train block: the loss, and the lines that name what a step does with its
// gradients. Those lines are not computed here; elab_update.c calls what they
// name.
#include <string.h>

#include "frontend/elab.h"

static const char *const line_name[NLINE] = {"clip", "optimizer", "rate",
                                             "micro_batches"};
static const char *const loss_name[] = {"loss", "total", "count"};

bool train_line(Elab *e, const Stmt *s)
{
    if (!e->is_training || e->frame || e->repeat || s->targets.n != 1)
        return false;
    for (int i = 0; i < NLINE; i++) {
        if (strcmp(s->targets.at[0].name.s, line_name[i]) != 0)
            continue;
        e->line[i] = s;
        return true;
    }
    return false;
}

// --- what the statements set and read ----------------------------------------

static const Name *find_set(const Stmts *stmts, const char *name)
{
    const Name *found = NULL;
    for (int i = 0; i < stmts->n; i++) {
        const Stmt *s = stmts->at[i];
        const Name *inner = find_set(&s->otherwise, name);
        for (int k = 0; k < s->targets.n && s->kind == STMT_ASSIGN; k++)
            if (strcmp(s->targets.at[k].name.s, name) == 0)
                found = &s->targets.at[k].name;
        found = inner ? inner : found;
        inner = find_set(&s->body, name);
        found = inner ? inner : found;
    }
    return found;
}

bool train_sets(const Program *p, const char *name)
{
    return find_set(&p->train.body, name) != NULL;
}

bool program_trains(const Program *p)
{
    return p->train.present && train_sets(p, "optimizer");
}

static Span set_at(const Elab *e, const char *name)
{
    const Name *found = find_set(&e->program->train.body, name);
    return found ? found->at : e->program->train.at;
}

static bool expr_reads(const Expr *x, const char *name)
{
    if (!x)
        return false;
    bool reads = x->kind == EXPR_NAME && strcmp(x->name, name) == 0;
    reads |= expr_reads(x->base, name);
    for (int i = 0; i < x->args.n; i++)
        reads |= expr_reads(x->args.at[i], name);
    for (int i = 0; i < x->fields.n; i++)
        reads |= expr_reads(x->fields.at[i].value, name);
    for (int i = 0; i < x->index.n; i++)
        reads |= expr_reads(x->index.at[i].lo, name) ||
                 expr_reads(x->index.at[i].hi, name);
    return reads;
}

static bool stmts_read(const Stmts *stmts, const char *name)
{
    for (int i = 0; i < stmts->n; i++) {
        const Stmt *s = stmts->at[i];
        if (expr_reads(s->value, name) || stmts_read(&s->body, name) ||
            stmts_read(&s->otherwise, name))
            return true;
    }
    return false;
}

// A name that nothing reads and that is like one of train's is misspelt.
static void check_spelling(Elab *e, const Stmts *stmts)
{
    Words words = {0};
    for (int i = 0; i < NLINE; i++)
        vec_push(e->arena, &words, line_name[i]);
    for (size_t i = 0; i < sizeof loss_name / sizeof *loss_name; i++)
        vec_push(e->arena, &words, loss_name[i]);
    for (int i = 0; i < stmts->n; i++) {
        const Stmt *s = stmts->at[i];
        check_spelling(e, &s->body);
        check_spelling(e, &s->otherwise);
        for (int k = 0; k < s->targets.n && s->kind == STMT_ASSIGN; k++) {
            const Name *name = &s->targets.at[k].name;
            const char *like = nearest(name->s, &words);
            if (like && strcmp(like, name->s) != 0 &&
                !stmts_read(&e->program->train.body, name->s))
                elab_fail(e, name->at,
                          "train has no line `%s`; did you mean `%s`?", name->s,
                          like);
        }
    }
}

static void check_lines(Elab *e)
{
    const Stmt *const *line = e->line;
    check_spelling(e, &e->program->train.body);
    for (int i = 0; i < NLINE; i++)
        if (line[i] && !line[LINE_optimizer])
            elab_fail(e, line[i]->at, "train has a line `%s` and no `optimizer`",
                      line_name[i]);
    if (line[LINE_optimizer] && !line[LINE_rate])
        elab_fail(e, line[LINE_optimizer]->at,
                  "train has an optimizer and no `rate`");
    e->parts = 1;
    if (line[LINE_micro_batches]) {
        const Expr *x = line[LINE_micro_batches]->value;
        value_int(e, eval_scalar(e, x), x->at, "micro_batches", 1, 1 << 20,
                  &e->parts);
    }
}

// --- the loss ----------------------------------------------------------------

// The variable, which must be one number; NULL after an error.
static Op *one_number(Elab *e, const Value *v, const char *what,
                      const char *name)
{
    if (v->kind == VALUE_BAD)
        return NULL;
    if (v->kind == VALUE_TENSOR && v->op->type.rank == 0)
        return v->op;
    elab_fail(
        e, set_at(e, name), "the %s must be one number, is %s", what,
        v->kind == VALUE_TENSOR
            ? type_string(e->arena, &e->module->mesh, &v->op->type, NULL)
            : kind_text(v));
    return NULL;
}

// Of one micro-batch: its part of the total over the count of the whole batch.
static Op *count_param(Elab *e, const Op *count)
{
    return emit_param(e, e->main, count->at, e->main->nparam, "count",
                      &count->type);
}

static Op *quotient(Elab *e, const Value *total, const Value *count)
{
    Span at = set_at(e, "total");
    e->total = one_number(e, total, "total", "total");
    e->count = one_number(e, count, "count", "count");
    if (!e->total || !e->count)
        return NULL;
    if (e->total->type.dtype != e->count->type.dtype) {
        elab_fail(e, at, "the total is %s and the count is %s",
                  dtype_name[e->total->type.dtype],
                  dtype_name[e->count->type.dtype]);
        return NULL;
    }
    Op *by = e->is_part ? count_param(e, e->count) : e->count;
    Op *loss = emit_binary(e, at, OP_divide, e->total, by);
    if (loss)
        loss->name = func_unique_name(e->func, "loss");
    return loss;
}

static Op *find_loss(Elab *e)
{
    const Value *loss = scope_find(e, "loss");
    const Value *total = scope_find(e, "total"), *count = scope_find(e, "count");
    if (loss)
        return one_number(e, loss, "loss", "loss");
    if (total && count)
        return quotient(e, total, count);
    if (total || count)
        elab_fail(e, set_at(e, total ? "total" : "count"),
                  "train sets `%s` and no `%s`", total ? "total" : "count",
                  total ? "count" : "total");
    else
        elab_fail(e, e->program->train.at, "train sets no `loss`");
    return NULL;
}

void run_train(Elab *e)
{
    Scope *scope = arena_new(e->arena, Scope, 1);
    scope->func = e->main;
    e->scope = e->train = scope;
    e->is_training = true;
    run_stmts(e, &e->program->train.body);
    e->is_training = false;
    Op *loss = find_loss(e);
    if (!e->is_part)
        check_lines(e);
    if (!loss)
        return;
    const char *set = e->total ? "total" : "loss";
    elab_output(e, (Name){"loss", set_at(e, set)}, loss, true);
}
