#include "emit/product.h"

#include <assert.h>
#include <string.h>

typedef struct Letters {
    const Kernel *kernel;
    int n;
    char name[MAX_LETTERS];
    Letter at[MAX_LETTERS];
} Letters;

static Letter *letter_named(Letters *l, char name)
{
    for (int i = 0; i < l->n; i++)
        if (l->name[i] == name)
            return &l->at[i];
    assert(l->n < MAX_LETTERS);
    l->name[l->n] = name;
    l->at[l->n] = (Letter){.size = 1};
    return &l->at[l->n++];
}

// Marks in `has`: bit 0 the first operand, 1 the second, 2 the result.
static LetterKind kind_of(int has)
{
    return has == 7   ? LETTER_batch
           : has == 5 ? LETTER_m
           : has == 6 ? LETTER_n
                      : LETTER_k;
}

static void read_operand(Letters *l, const char *spec, const View *v, bool is_b)
{
    for (int i = 0; i < v->rank; i++) {
        Letter *letter = letter_named(l, spec[i]);
        letter->size = v->dim[i].size;
        *(is_b ? &letter->b : &letter->a) += v->dim[i].stride;
    }
}

static void read_result(Letters *l, const char *spec)
{
    const Nest *nest = l->kernel->nest;
    for (int i = 0; i < nest->nroot; i++) {
        Letter *letter = letter_named(l, spec[i]);
        letter->out = nest->out[i];
        for (int k = 0; k < nest->nnode; k++)
            letter->end[k] = nest->node[k].stride[i];
    }
}

static Letters read_letters(const Kernel *k)
{
    Letters l = {.kernel = k};
    const char *a = op_str(k->product, A_spec);
    const char *b = strchr(a, ',') + 1, *out = strstr(b, "->") + 2;
    read_operand(&l, a, &k->access.at[k->access.n - 2].view, false);
    read_operand(&l, b, &k->access.at[k->access.n - 1].view, true);
    read_result(&l, out);
    for (int i = 0; i < l.n; i++) {
        bool in_a = memchr(a, l.name[i], (size_t)(b - 1 - a)) != NULL;
        bool in_b = memchr(b, l.name[i], (size_t)(out - 2 - b)) != NULL;
        bool in_out = strchr(out, l.name[i]) != NULL;
        l.at[i].kind = kind_of(in_a | in_b << 1 | in_out << 2);
    }
    return l;
}

// The first operand gets the letters of the second.
static void swap_operands(Letters *l, Product *p)
{
    int a = p->a;
    p->a = p->b;
    p->b = a;
    for (int i = 0; i < l->n; i++) {
        Letter *x = &l->at[i];
        int64_t stride = x->a;
        x->a = x->b;
        x->b = stride;
        x->kind = x->kind == LETTER_m   ? LETTER_n
                  : x->kind == LETTER_n ? LETTER_m
                                        : x->kind;
    }
}

static bool step_as_one(const Letter *x, const Letter *y, int nnode)
{
    if (x->kind != y->kind || x->a != y->a * y->size ||
        x->b != y->b * y->size || x->out != y->out * y->size)
        return false;
    for (int i = 0; i < nnode; i++)
        if (x->end[i] != y->end[i] * y->size)
            return false;
    return true;
}

static void remove_letter(Letters *l, int i)
{
    l->n--;
    memmove(&l->at[i], &l->at[i + 1], sizeof l->at[0] * (size_t)(l->n - i));
}

// Joins x into y for every pair where x steps over all of y.
static void join_letters(Letters *l)
{
    int nnode = l->kernel->nest->nnode;
    for (int i = l->n - 1; i >= 0; i--)
        if (l->at[i].size == 1)
            remove_letter(l, i);
    for (int i = 0; i < l->n; i++)
        for (int j = 0; j < l->n; j++)
            if (i != j && step_as_one(&l->at[i], &l->at[j], nnode)) {
                l->at[j].size *= l->at[i].size;
                remove_letter(l, i);
                i = -1;
                break;
            }
}

// Takes out the letter of a kind that is to be the inner loop: dense in the
// result if there is one, else the longest.
static Letter take_inner(Letters *l, LetterKind kind)
{
    int best = -1;
    for (int i = 0; i < l->n; i++) {
        const Letter *x = &l->at[i];
        if (x->kind != kind)
            continue;
        if (best < 0 || (x->out == 1 && kind == LETTER_n) ||
            (x->size > l->at[best].size &&
             !(l->at[best].out == 1 && kind == LETTER_n)))
            best = i;
    }
    if (best < 0)
        return (Letter){.kind = kind, .size = 1};
    Letter x = l->at[best];
    remove_letter(l, best);
    return x;
}

Product product_of(const Kernel *k)
{
    Letters l = read_letters(k);
    Product p = {.a = k->access.n - 2, .b = k->access.n - 1};
    for (int i = 0; i < l.n; i++)
        if (l.at[i].kind == LETTER_m && l.at[i].out == 1 && l.at[i].size > 1) {
            swap_operands(&l, &p);
            break;
        }
    join_letters(&l);
    p.m = take_inner(&l, LETTER_m);
    p.n = take_inner(&l, LETTER_n);
    p.k = take_inner(&l, LETTER_k);
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < l.n; i++)
            if ((l.at[i].kind == LETTER_k) == (pass == 1))
                p.outer[p.nouter++] = l.at[i];
    for (int i = 0; i < p.nouter; i++)
        p.nouter_k += p.outer[i].kind == LETTER_k;
    return p;
}

GemmSums product_sums(const Kernel *k, const Product *p)
{
    const Nest *n = k->nest;
    if (n->node[n->root].kind == NODE_product &&
        k->access.at[0].dtype == DT_f32 && (p->n.out == 1 || p->n.size == 1))
        return SUMS_IN_C;
    return p->k.size <= GEMM_KC && !p->nouter_k ? SUMS_IN_TILE : SUMS_WAIT;
}

int64_t product_scratch(const Kernel *k)
{
    Product p = product_of(k);
    return gemm_scratch(p.m.size, p.n.size, p.k.size, product_sums(k, &p));
}
