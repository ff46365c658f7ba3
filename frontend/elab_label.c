// The indices of one statement: their order, their sizes, who gave them.
//
// A label is a position in the formula's table, so that sorting dimensions by
// label gives the order of the left side. `..` is MAX_RANK labels in a row, of
// which as many are used as it stands for dimensions.
#include <string.h>

#include "frontend/elab.h"

static int add_label(Elab *e, const char *name, Span at)
{
    Formula *f = e->formula;
    if (f->nlabel == MAX_LABELS) {
        elab_fail(e, at, "more than %d indices in one statement", MAX_LABELS);
        return -1;
    }
    f->label[f->nlabel] = (Label){.name = name};
    return f->nlabel++;
}

int label_find(Elab *e, const char *name, Span at)
{
    for (int i = 0; i < e->formula->nlabel; i++)
        if (strcmp(e->formula->label[i].name, name) == 0)
            return i;
    return add_label(e, name, at);
}

static const char *const rest_name[MAX_RANK] = {"..0", "..1", "..2", "..3",
                                                "..4", "..5", "..6", "..7"};

static void add_rest(Elab *e, Span at)
{
    Formula *f = e->formula;
    if (f->rest >= 0)
        return;
    if (f->nlabel + MAX_RANK > MAX_LABELS) {
        elab_fail(e, at, "more than %d indices in one statement", MAX_LABELS);
        return;
    }
    f->rest = f->nlabel;
    for (int i = 0; i < MAX_RANK; i++)
        add_label(e, rest_name[i], at);
}

Labels label_rest(Elab *e)
{
    return e->formula->rest < 0 ? 0 : (Labels)0xff << e->formula->rest;
}

const char *label_name(const Elab *e, int label)
{
    const char *name = e->formula->label[label].name;
    return name[0] == '.' ? ".." : name;
}

bool label_bind(Elab *e, int label, int64_t size, const char *size_name,
                const char *owner, Span at)
{
    Label *l = &e->formula->label[label];
    if (l->size == 0) {
        l->size = size;
        l->size_name = size_name;
        l->owner = owner;
        return true;
    }
    if (l->size == size)
        return true;
    const char *was =
        l->size_name ? arena_printf(e->arena, "%s = ", l->size_name) : "";
    const char *is =
        size_name ? arena_printf(e->arena, "%s = ", size_name) : "";
    elab_fail(e, at, "dimension %s of %s is %s%ld, of %s %s%ld",
              label_name(e, label), l->owner, was, (long)l->size, owner, is,
              (long)size);
    return false;
}

bool label_bind_rest(Elab *e, int n, const char *owner, Span at)
{
    Formula *f = e->formula;
    if (f->rest < 0)
        return false;
    if (f->nrest < 0)
        f->nrest = n;
    if (f->nrest == n)
        return true;
    elab_fail(e, at, "`..` stands for %d dimensions of %s and for %d elsewhere",
              n, owner, f->nrest);
    return false;
}

static Labels labels_of_index(Elab *e, const Index *i)
{
    if (i->kind == INDEX_NAME) {
        int label = label_find(e, i->name, i->at);
        return label < 0 ? 0 : (Labels)1 << label;
    }
    if (i->kind == INDEX_REST) {
        add_rest(e, i->at);
        return label_rest(e);
    }
    return i->kind == INDEX_EXPR ? formula_labels(e, i->lo) : 0;
}

static Labels labels_of_list(Elab *e, const Indexes *index)
{
    Labels set = 0;
    for (int i = 0; i < index->n; i++)
        set |= labels_of_index(e, &index->at[i]);
    return set;
}

static bool is_index_call(const Expr *x)
{
    return x->base->kind == EXPR_NAME && strcmp(x->base->name, "index") == 0 &&
           x->args.n == 1 && x->args.at[0]->kind == EXPR_NAME;
}

// All indices that stand in an expression and are not reduced there. What is
// indexed by a list hides its own.
Labels formula_labels(Elab *e, const Expr *x)
{
    Labels set = 0;
    switch (x->kind) {
    case EXPR_INDEX: return labels_of_list(e, &x->index);
    case EXPR_REDUCE:
        set = formula_labels(e, x->base);
        return set & ~labels_of_list(e, &x->index);
    case EXPR_UNARY: return formula_labels(e, x->base);
    case EXPR_CALL:
        if (is_index_call(x)) {
            int label = label_find(e, x->args.at[0]->name, x->at);
            return label < 0 ? 0 : (Labels)1 << label;
        }
        break;
    case EXPR_BINARY:
    case EXPR_IF: break;
    default: return 0;
    }
    for (int i = 0; i < x->args.n; i++)
        set |= formula_labels(e, x->args.at[i]);
    for (int i = 0; i < x->fields.n; i++)
        set |= formula_labels(e, x->fields.at[i].value);
    return set;
}

static void seek_in_index(Elab *e, const Expr *x, int label)
{
    const Value *v =
        x->base->kind == EXPR_NAME ? scope_find(e, x->base->name) : NULL;
    int named = 0, dim = 0;
    for (int i = 0; i < x->index.n; i++)
        named += x->index.at[i].kind != INDEX_REST &&
                 x->index.at[i].kind != INDEX_NONE;
    for (int i = 0; v && v->kind == VALUE_TENSOR && i < x->index.n; i++) {
        const Index *index = &x->index.at[i];
        if (index->kind == INDEX_NAME && dim < v->rank && dim >= 0 &&
            strcmp(index->name, e->formula->label[label].name) == 0)
            label_bind(e, label, value_dim(v, dim), v->dim[dim].size,
                       value_name(v), index->at);
        dim += index->kind == INDEX_REST   ? v->rank - named
               : index->kind == INDEX_NONE ? 0
                                           : 1;
    }
}

void label_seek(Elab *e, const Expr *x, int label)
{
    if (e->formula->label[label].size)
        return;
    if (x->kind == EXPR_INDEX)
        seek_in_index(e, x, label);
    if (x->kind == EXPR_REDUCE || x->kind == EXPR_UNARY)
        label_seek(e, x->base, label);
    for (int i = 0; i < x->args.n; i++)
        label_seek(e, x->args.at[i], label);
    for (int i = 0; i < x->fields.n; i++)
        label_seek(e, x->fields.at[i].value, label);
}

// Registers the left side's indices, then those of the right side.
void formula_begin(Elab *e, Formula *f, const Indexes *left, const Expr *x,
                   Labels *hard)
{
    *f = (Formula){
        .rest = -1, .nrest = -1, .has_left = left != NULL, .right = x};
    *hard = 0;
    e->formula = f;
    for (int i = 0; left && i < left->n; i++) {
        Labels set = labels_of_index(e, &left->at[i]);
        if (*hard & set)
            elab_fail(e, left->at[i].at, "index %s stands twice on the left",
                      left->at[i].kind == INDEX_REST ? ".." : left->at[i].name);
        *hard |= set;
    }
    formula_labels(e, x);
}
