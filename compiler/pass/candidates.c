// The placements worth trying for an op.
//
// For each factor: the splits it has in an operand, in the hint on the result,
// or in what a user demands, their prefixes by whole axes, and none. A
// candidate takes one for each factor such that no atom is used twice.
#include "pass/solve.h"

enum {
    MAX_OPTIONS = 6, // for one factor, the empty one included
    MAX_CANDIDATES = 600,
};

typedef struct Options {
    int n;
    Split split[MAX_OPTIONS];
} Options;

typedef struct Search {
    const Mesh *mesh;
    const Rule *rule;
    Options option[MAX_FACTORS];
    Placement p;
    VisitFn *visit;
    void *user;
    int left; // candidates still allowed
} Search;

static bool fits(const PassContext *c, const Mesh *m, const Rule *r, int f,
                 const Split *s)
{
    int64_t items = split_pieces(m, s);
    for (int i = 0; i < s->n; i++)
        items *= s->item[i] < 0 ? -s->item[i] : 1;
    bool positional =
        r->kind[f] == FACTOR_POSITION || r->kind[f] == FACTOR_LOOKUP;
    if (split_has_gap(s))
        return !positional && r->size[f] % items == 0;
    return c->uneven_pad || r->size[f] % items == 0;
}

static void add_option(const PassContext *c, Search *x, int f, const Split *s)
{
    Options *o = &x->option[f];
    for (int i = 0; i < o->n; i++)
        if (split_equal(&o->split[i], s))
            return;
    if (o->n < MAX_OPTIONS - 1 && fits(c, x->mesh, x->rule, f, s))
        o->split[o->n++] = *s;
}

// Whether a new axis starts with item i.
static bool starts_axis(const Mesh *m, const Split *s, int i)
{
    return s->item[i] >= 0 && s->item[i - 1] >= 0 &&
           m->atom[s->item[i]].axis != m->atom[s->item[i - 1]].axis;
}

// The split, its prefixes that end with an axis, and what is left when such a
// prefix is gathered: a gap and the rest.
static void add_parts(const PassContext *c, Search *x, int f, const Split *s)
{
    Split prefix = {0};
    int64_t gathered = 1;
    add_option(c, x, f, s);
    for (int i = 0; i < s->n; i++) {
        if (i && starts_axis(x->mesh, s, i)) {
            Split rest = {0};
            split_push(&rest, (int32_t)-gathered);
            for (int k = i; k < s->n; k++)
                split_push(&rest, s->item[k]);
            add_option(c, x, f, &prefix);
            add_option(c, x, f, &rest);
        }
        split_push(&prefix, s->item[i]);
        gathered *=
            s->item[i] < 0 ? -s->item[i] : x->mesh->atom[s->item[i]].size;
    }
}

static void add_tensor(const PassContext *c, Search *x, int t, int rank,
                       const Sharding *s)
{
    Split split[MAX_FACTORS] = {0};
    factors_from_sharding(x->mesh, x->rule, t, rank, s, split);
    for (int f = 0; f < x->rule->nfactor; f++)
        if (split[f].n)
            add_parts(c, x, f, &split[f]);
}

static void visit_factor(Search *x, int f, AtomSet used)
{
    if (x->left <= 0)
        return;
    if (f == x->rule->nfactor) {
        x->left--;
        x->visit(x->user, &x->p);
        return;
    }
    const Options *o = &x->option[f];
    for (int i = 0; i < o->n; i++) {
        if (split_atoms(&o->split[i]) & used)
            continue;
        x->p.factor[f] = o->split[i];
        visit_factor(x, f + 1, used | split_atoms(&o->split[i]));
    }
    x->p.factor[f].n = 0;
    visit_factor(x, f + 1, used);
}

static AtomSet pending_sum(const FuncState *s, const Op *value)
{
    const Sharding *in = &s->op[value->id].out;
    return in->combiner == COMBINE_sum ? in->partial : 0;
}

// Candidates that carry a pending sum through: one that all operands share,
// or, in a product, that of one side, the other being whole over its atoms.
static void visit_carrying(Search *x, const FuncState *s, const Op *op)
{
    Linear linear = op_linear(op);
    AtomSet common = ~(AtomSet)0;
    for (int t = 0; t < op->noperand; t++) {
        AtomSet pending = pending_sum(s, op->operand[t]);
        common &= pending;
        if (linear != LINEAR_ANY || !pending)
            continue;
        x->p.carried = pending;
        x->p.carrier = t + 1;
        visit_factor(x, 0, pending);
    }
    x->p.carrier = ALL_OPERANDS;
    x->p.carried = common;
    if (linear == LINEAR_ALL && op->noperand && common)
        visit_factor(x, 0, common);
    x->p.carried = 0;
}

void for_each_candidate(const PassContext *c, const FuncState *s, int id,
                        VisitFn *visit, void *user)
{
    const Op *op = s->func->ops.at[id];
    const OpState *o = &s->op[id];
    Search x; // large: only what the rule needs is made empty
    x.mesh = &s->func->module->mesh;
    x.rule = o->rule;
    x.visit = visit;
    x.user = user;
    x.left = MAX_CANDIDATES;
    for (int f = 0; f < o->rule->nfactor; f++)
        x.option[f].n = x.p.factor[f].n = 0;
    for (int t = 0; t < op->noperand; t++)
        add_tensor(c, &x, t, op->operand[t]->type.rank,
                   &s->op[op->operand[t]->id].out);
    if (o->has_hint)
        add_tensor(c, &x, op->noperand, op->type.rank, &o->hint);
    for (int i = 0; i < o->uses.n; i++) {
        const OpState *user_op = &s->op[o->uses.at[i].user];
        if (user_op->is_placed)
            add_tensor(c, &x, op->noperand, op->type.rank,
                       &user_op->demand[o->uses.at[i].operand]);
    }
    visit_carrying(&x, s, op);
    visit_factor(&x, 0, 0);
}
