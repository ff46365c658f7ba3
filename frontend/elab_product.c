// Products: a * b / c. An index that nothing outside needs is summed.
//
// A chain of * and / is evaluated left to right. After each step the indices
// that are on no left side, in no reducer and in no later factor are summed:
// two factors that share such an index become an einsum. Parentheses around a
// right factor and arguments are chains of their own, in which an index that
// two factors share is summed although it also stands outside.
#include <string.h>

#include "frontend/elab.h"

typedef struct Factor {
    const Expr *x;
    bool divides;
    Span at; // of the operator
    Value v;
} Factor;

typedef struct Chain {
    int n;
    Factor at[MAX_CHAIN];
} Chain;

static bool is_product(const Expr *x)
{
    return x->kind == EXPR_BINARY &&
           (strcmp(x->name, "*") == 0 || strcmp(x->name, "/") == 0);
}

// The left spine of products, first factor first.
static bool flatten(Elab *e, const Expr *x, Chain *c)
{
    if (is_product(x)) {
        if (!flatten(e, x->args.at[0], c))
            return false;
        if (c->n == MAX_CHAIN) {
            elab_fail(e, x->at, "more than %d factors; name a part of them",
                      MAX_CHAIN);
            return false;
        }
        c->at[c->n++] = (Factor){x->args.at[1], *x->name == '/', x->at, {0}};
        return true;
    }
    c->at[c->n++] = (Factor){x, false, x->at, {0}};
    return true;
}

static bool eval_factors(Elab *e, Chain *c, Keep keep)
{
    Labels has[MAX_CHAIN];
    bool ok = true;
    for (int i = 0; i < c->n; i++)
        has[i] = e->formula ? formula_labels(e, c->at[i].x) : 0;
    for (int i = 0; i < c->n; i++) {
        Keep inner = keep;
        for (int k = 0; k < c->n; k++)
            if (k != i)
                inner.soft |= has[k];
        c->at[i].v = use(e, c->at[i].at, eval(e, c->at[i].x, inner));
        ok &= c->at[i].v.kind != VALUE_BAD;
    }
    return ok;
}

// The first label of a set; -1 if it is empty.
static int first_label(Labels set)
{
    for (int l = 0; l < MAX_LABELS; l++)
        if (set >> l & 1)
            return l;
    return -1;
}

// An index that is summed without need: it is not clear what is meant.
static bool check_summed(Elab *e, Span at, Labels summed, Labels alone)
{
    const Formula *f = e->formula;
    int unclear = f->has_left ? -1 : first_label(summed);
    int twice = f->has_left ? first_label(summed & alone & f->summed) : -1;
    if (unclear >= 0)
        elab_fail(e, at,
                  "is index %s of this product summed? Name the indices of "
                  "the result, as in y[b, s] = ...",
                  label_name(e, unclear));
    if (twice >= 0)
        elab_fail(e, at,
                  "index %s is already summed inside a factor; name the "
                  "inner value first",
                  label_name(e, twice));
    return unclear < 0 && twice < 0;
}

// Which of the chain's indices it sums. A quotient alone sums none.
static bool find_summed(Elab *e, const Chain *c, Keep keep, Span at,
                        Labels *summed)
{
    Formula *f = e->formula;
    Labels any = 0, shared = 0; // in a factor, in two or more
    int multiplied = 0;
    *summed = 0;
    for (int i = 0; i < c->n; i++) {
        if (c->at[i].v.kind != VALUE_TENSOR)
            continue;
        Labels has = value_labels(&c->at[i].v);
        multiplied += !c->at[i].divides;
        shared |= any & has;
        any |= has;
    }
    if (!f || multiplied < 2)
        return true;
    Labels alone = any & ~shared & ~keep.soft;
    *summed = (shared | alone) & ~keep.hard & ~label_rest(e);
    if (!f->has_left)
        *summed &= shared;
    if (!check_summed(e, at, *summed, alone))
        return false;
    f->summed |= *summed & shared;
    return true;
}

Value reduce_labels(Elab *e, Span at, OpCode code, Value v, Labels gone)
{
    int64_t dims[MAX_RANK];
    int n = 0, rank = 0;
    v = realize(e, at, v);
    if (v.kind == VALUE_BAD || !(value_labels(&v) & gone))
        return v;
    for (int i = 0; i < v.rank; i++) {
        if (v.dim[i].label >= 0 && gone >> v.dim[i].label & 1)
            dims[n++] = i;
        else
            v.dim[rank++] = v.dim[i];
    }
    v.rank = rank;
    v.name = NULL;
    v.op = emit_reduce(e, at, code, v.op, n, dims);
    return v.op ? v : (Value){0};
}

// A letter for each label: its own if it is one and free.
static void choose_letters(const Elab *e, Labels all, char letter[MAX_LABELS])
{
    char used[128] = {0};
    memset(letter, 0, MAX_LABELS);
    for (int l = 0; l < e->formula->nlabel; l++) {
        const char *name = e->formula->label[l].name;
        unsigned char c = (unsigned char)name[0];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (all >> l & 1 && is_letter && !used[c]) {
            letter[l] = (char)c;
            used[c] = 1;
        }
    }
    char next = 'a';
    for (int l = 0; l < e->formula->nlabel; l++) {
        if (!(all >> l & 1) || letter[l])
            continue;
        while (used[(unsigned char)next])
            next++;
        letter[l] = next;
        used[(unsigned char)next] = 1;
    }
}

static Value einsum(Elab *e, Span at, const Value *a, const Value *b,
                    Labels summed)
{
    Labels all = value_labels(a) | value_labels(b);
    char letter[MAX_LABELS], spec[4 * MAX_RANK + 4];
    char *p = spec;
    Value v = {.kind = VALUE_TENSOR};
    choose_letters(e, all, letter);
    for (int i = 0; i < a->rank; i++)
        *p++ = letter[a->dim[i].label];
    *p++ = ',';
    for (int i = 0; i < b->rank; i++)
        *p++ = letter[b->dim[i].label];
    *p++ = '-';
    *p++ = '>';
    for (int l = 0; l < e->formula->nlabel; l++) {
        if (!((all & ~summed) >> l & 1))
            continue;
        if (v.rank == MAX_RANK)
            return elab_fail(e, at, "the result has more than %d dimensions",
                             MAX_RANK);
        *p++ = letter[l];
        v.dim[v.rank++] =
            (Dim){.label = l, .size = e->formula->label[l].size_name};
    }
    *p = '\0';
    Op *op = emit(e, at, OP_einsum, 2, (Op *[]){a->op, b->op});
    if (!op)
        return (Value){0};
    op_set_str(e->func, op, A_spec, spec);
    v.op = op;
    return emit_done(e, op) ? v : (Value){0};
}

// One step of a chain: acc * f or acc / f, `gone` is summed.
static Value step(Elab *e, Value acc, const Factor *f, Labels gone)
{
    Value b = f->v;
    if (acc.kind != VALUE_TENSOR || b.kind != VALUE_TENSOR)
        return elementwise(e, f->at, f->divides ? OP_divide : OP_multiply, acc,
                           b);
    Labels in_a = value_labels(&acc), in_b = value_labels(&b);
    if (!f->divides) {
        acc = reduce_labels(e, f->at, OP_reduce_sum, acc, gone & ~in_b);
        b = reduce_labels(e, f->at, OP_reduce_sum, b, gone & ~in_a);
        if (acc.kind == VALUE_BAD || b.kind == VALUE_BAD)
            return (Value){0};
    }
    Labels shared = gone & in_a & in_b;
    bool same = acc.op->type.dtype == b.op->type.dtype;
    if (shared && !f->divides && same && !has_place_only(&acc) &&
        !has_place_only(&b))
        return einsum(e, f->at, &acc, &b, shared);
    acc = elementwise(e, f->at, f->divides ? OP_divide : OP_multiply, acc, b);
    return acc.kind == VALUE_TENSOR
               ? reduce_labels(e, f->at, OP_reduce_sum, acc, gone)
               : acc;
}

Value eval_product(Elab *e, const Expr *x, Keep keep)
{
    Chain c = {0};
    Labels summed;
    if (!flatten(e, x, &c) || !eval_factors(e, &c, keep) ||
        !find_summed(e, &c, keep, x->at, &summed))
        return (Value){0};
    Value acc = c.at[0].v;
    for (int i = 1; i < c.n && acc.kind != VALUE_BAD; i++) {
        const Factor *f = &c.at[i];
        Labels later = 0;
        for (int k = i + 1; k < c.n; k++)
            if (c.at[k].v.kind == VALUE_TENSOR)
                later |= value_labels(&c.at[k].v);
        if (acc.kind == VALUE_NUMBER && f->v.kind == VALUE_NUMBER)
            acc = value_number(f->divides ? acc.number / f->v.number
                                          : acc.number * f->v.number);
        else
            acc = step(e, acc, f, summed & ~later);
    }
    return acc;
}
