#include "frontend/rules.h"

#include <string.h>

enum {
    MAX_LISTED = 20, // sets in a message
};

static const RulesDecl *find_decl(const Program *p, const char *name)
{
    for (int i = 0; i < p->rules.n; i++)
        if (strcmp(p->rules.at[i].name.s, name) == 0)
            return &p->rules.at[i];
    return NULL;
}

static const char *known_sets(Arena *a, const Program *p)
{
    const char *list = "none";
    for (int i = 0; i < p->rules.n && i < MAX_LISTED; i++)
        list = arena_printf(a, "%s%s%s", i ? list : "", i ? ", " : "",
                            p->rules.at[i].name.s);
    return list;
}

static void add_rule(Arena *a, Rules *to, const RuleLine *line, Diag *d)
{
    AxisRule rule = {.logical = line->logical.s, .at = line->logical.at};
    for (int i = 0; i < line->axes.n; i++) {
        const Name *axis = &line->axes.at[i];
        for (int j = 0; j < rule.naxis; j++)
            if (strcmp(rule.axis[j], axis->s) == 0)
                diag_error(d, axis->at, "axis `%s` is twice in one rule",
                           axis->s);
        if (rule.naxis == MAX_RULE_AXES) {
            diag_error(d, axis->at, "a rule has at most %d axes",
                       MAX_RULE_AXES);
            break;
        }
        rule.axis_at[rule.naxis] = axis->at;
        rule.axis[rule.naxis++] = axis->s;
    }
    vec_push(a, &to->rules, rule);
}

typedef VEC(const RulesDecl *) Chain;

// The set, its base, the base's base; false if one is missing or they go in a
// circle.
static bool find_bases(Arena *a, const Program *p, const RulesDecl *decl,
                       Chain *chain, Diag *d)
{
    while (decl) {
        for (int i = 0; i < chain->n; i++) {
            if (chain->at[i] == decl) {
                diag_error(d, decl->base.at, "rules `%s` are their own base",
                           decl->name.s);
                return false;
            }
        }
        vec_push(a, chain, decl);
        const Name *base = &decl->base;
        decl = base->s ? find_decl(p, base->s) : NULL;
        if (base->s && !decl) {
            diag_error(d, base->at, "no rules are called `%s`; there are: %s",
                       base->s, known_sets(a, p));
            return false;
        }
    }
    return true;
}

// What a name stands for by one alias; NULL if none has it.
static const char *alias_of(const Rules *r, const char *name)
{
    for (int i = r->aliases.n - 1; i >= 0; i--)
        if (strcmp(r->aliases.at[i].name.s, name) == 0)
            return r->aliases.at[i].means.s;
    return NULL;
}

// An error for the first alias that leads back to itself.
static void check_aliases(const Rules *r, Diag *d)
{
    for (int i = 0; i < r->aliases.n; i++) {
        const Name *name = &r->aliases.at[i].name;
        const char *to = alias_of(r, name->s);
        for (int k = 0; k < r->aliases.n && to; k++) {
            if (strcmp(to, name->s) == 0) {
                diag_error(d, name->at, "alias `%s` means itself", name->s);
                return;
            }
            to = alias_of(r, to);
        }
    }
}

const Rules *rules_find(Arena *a, const Program *p, const char *name, Diag *d)
{
    int before = d->nerror;
    Rules *r = arena_new(a, Rules, 1);
    r->name = name;
    const RulesDecl *decl = find_decl(p, name);
    if (!decl) {
        diag_error(d, (Span){0}, "no rules are called `%s`; there are: %s",
                   name, known_sets(a, p));
        return NULL;
    }
    Chain chain = {0};
    if (!find_bases(a, p, decl, &chain, d))
        return NULL;
    for (int i = chain.n - 1; i >= 0; i--) {
        decl = chain.at[i];
        for (int j = 0; j < decl->lines.n; j++)
            add_rule(a, r, &decl->lines.at[j], d);
        for (int j = 0; j < decl->aliases.n; j++)
            vec_push(a, &r->aliases, decl->aliases.at[j]);
    }
    check_aliases(r, d);
    return d->nerror == before ? r : NULL;
}

// An alias may mean an alias; rules_find lets no circle of them pass.
const char *rules_meaning(const Rules *r, const char *name)
{
    const char *to;
    while ((to = alias_of(r, name)))
        name = to;
    return name;
}

// The first axis of the rule that the tensor uses already; NULL if none.
static const char *find_used(const Resolution *res, const AxisRule *rule,
                             int *by)
{
    for (int i = 0; i < rule->naxis; i++)
        for (int d = 0; d < res->ndim; d++)
            for (int j = 0; res->fired[d] && j < res->fired[d]->naxis; j++)
                if (strcmp(res->fired[d]->axis[j], rule->axis[i]) == 0) {
                    *by = d;
                    return rule->axis[i];
                }
    return NULL;
}

static void try_rule(Arena *a, const Rules *r, int rule, int dim,
                     Resolution *res)
{
    RuleTrial t = {.rule = rule, .dim = dim, .verdict = RULE_FIRED};
    const AxisRule *axes = &r->rules.at[rule];
    res->known[dim] = true;
    if (res->fired[dim])
        t.verdict = RULE_DIM_TAKEN;
    else if ((t.axis = find_used(res, axes, &t.by)))
        t.verdict = RULE_AXIS_TAKEN;
    else
        res->fired[dim] = axes;
    vec_push(a, &res->trials, t);
}

Resolution rules_resolve(Arena *a, const Rules *r, int ndim,
                         const char *const logical[])
{
    Resolution res = {.ndim = ndim};
    const char *name[MAX_RANK] = {0};
    for (int d = 0; d < ndim; d++) {
        bool none = !logical[d] || strcmp(logical[d], "_") == 0;
        name[d] = none ? NULL : rules_meaning(r, logical[d]);
        res.known[d] = none;
    }
    for (int i = 0; i < r->rules.n; i++)
        for (int d = 0; d < ndim; d++)
            if (name[d] && strcmp(name[d], r->rules.at[i].logical) == 0)
                try_rule(a, r, i, d, &res);
    return res;
}

Split resolution_split(const Resolution *res, int dim, const Mesh *m)
{
    Split s = {0};
    const AxisRule *rule = res->fired[dim];
    for (int i = 0; rule && i < rule->naxis; i++) {
        int axis = mesh_find(m, rule->axis[i]);
        if (axis < 0)
            continue;
        Split atoms = split_of_axis(m, axis);
        split_append(&s, &atoms);
    }
    return s;
}
