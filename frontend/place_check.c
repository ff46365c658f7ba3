// Checks of placements: names no rule has, rules that could not fire, sizes
// that do not divide.
#include <string.h>

#include "frontend/place.h"

enum {
    MAX_LISTED = 12, // divisors in a message
};

static int axis_size(const Elab *e, const char *name)
{
    int i = mesh_find(&e->options->mesh, name);
    return i < 0 ? 1 : e->options->mesh.axis[i].size;
}

// The written name of dimension i; the front of a stack has none.
static Span name_at(const Placement *p, int i)
{
    i -= p->is_stack;
    return i < 0 ? p->at : p->axes->dim.at[i].at[0].at;
}

// Names of rules and aliases, for a suggestion.
static Words rule_words(Elab *e)
{
    const Rules *r = e->options->rules;
    Words words = {0};
    for (int i = 0; i < r->rules.n; i++)
        vec_push(e->arena, &words, r->rules.at[i].logical);
    for (int i = 0; i < r->aliases.n; i++)
        vec_push(e->arena, &words, r->aliases.at[i].name.s);
    return words;
}

static void check_known(Elab *e, const Placement *p, const char *name, int i)
{
    const Rules *r = e->options->rules;
    const char *means = rules_meaning(r, name);
    bool is_alias = strcmp(means, name) != 0;
    if (!elab_first(e, arena_printf(e->arena, "unknown name %s", name)))
        return;
    Words words = rule_words(e);
    diag_warn(e->diag, W_unknown_logical_name, name_at(p, i),
              "rules %s have no logical name `%s`%s%s; its dimensions are "
              "replicated%s",
              r->name, means, is_alias ? ", which is what alias " : "",
              is_alias ? arena_printf(e->arena, "%s means", name) : "",
              is_alias ? "" : suggest(e->arena, name, &words));
}

static bool has_axis(const AxisRule *r, const char *axis)
{
    for (int i = 0; r && i < r->naxis; i++)
        if (strcmp(r->axis[i], axis) == 0)
            return true;
    return false;
}

// A weight whose dimension no rule could split, because another one has an
// axis that all of them want.
static void report_conflict(Elab *e, const Placement *p,
                            const char *const name[], const Resolution *r,
                            const RuleTrial *t)
{
    const AxisRule *wants = &e->options->rules->rules.at[t->rule];
    const AxisRule *has = r->fired[t->by];
    int errors = e->diag->nerror;
    elab_fail(e, name_at(p, t->dim),
              "%s: mesh axis %s would split both %s and %s; give %s a rule "
              "without %s, or name that dimension `_`",
              p->what, t->axis, name[t->by], name[t->dim], name[t->dim],
              t->axis);
    if (e->diag->nerror == errors)
        return;
    diag_note(e->diag, has->at, "%s has it by this rule", name[t->by]);
    diag_note(e->diag, wants->at, "%s wants it by this one", name[t->dim]);
}

// An axis of size 1 kept a rule from firing, and so an axis of more idle.
static void warn_size_1(Elab *e, const Placement *p, const char *const name[],
                        const Resolution *r, const RuleTrial *t)
{
    const AxisRule *rule = &e->options->rules->rules.at[t->rule];
    const char *idle = NULL;
    for (int i = 0; i < rule->naxis; i++) {
        bool used = false;
        for (int k = 0; k < r->ndim; k++)
            used |= has_axis(r->fired[k], rule->axis[i]);
        if (!used && axis_size(e, rule->axis[i]) > 1)
            idle = rule->axis[i];
    }
    const char *key = arena_printf(e->arena, "size 1 %d", t->rule);
    if (!idle || !elab_first(e, key))
        return;
    bool lacks = mesh_find(&e->options->mesh, t->axis) < 0;
    diag_warn(e->diag, W_size_1_axis, name_at(p, t->dim),
              "%s: %s is not split over %s: the rule has axis %s too, which %s "
              "has; %s",
              p->what, name[t->dim], idle, t->axis, name[t->by],
              lacks ? "the mesh lacks it" : "its size is 1");
}

void place_check_rules(Elab *e, const Placement *p, const char *const name[],
                       const Resolution *r)
{
    bool reported[MAX_RANK] = {false};
    for (int i = 0; i < r->ndim; i++) {
        bool is_name = name[i] && strcmp(name[i], "_") != 0;
        if (is_name && !r->known[i] && !(p->is_stack && i == 0))
            check_known(e, p, name[i], i);
    }
    for (int i = 0; i < r->trials.n; i++) {
        const RuleTrial *t = &r->trials.at[i];
        if (t->verdict != RULE_AXIS_TAKEN)
            continue;
        if (axis_size(e, t->axis) == 1)
            warn_size_1(e, p, name, r, t);
        else if (p->is_weight && !r->fired[t->dim] && !reported[t->dim])
            report_conflict(e, p, name, r, t);
        reported[t->dim] |= axis_size(e, t->axis) > 1;
    }
}

// "fsdp=2, tensor=3"
static const char *axes_text(Elab *e, const Split *s)
{
    const Mesh *m = &e->options->mesh;
    const char *list = "";
    int last = -1;
    for (int i = 0; i < s->n; i++) {
        int axis = s->item[i] < 0 ? last : m->atom[s->item[i]].axis;
        if (axis != last)
            list = arena_printf(e->arena, "%s%s%s=%d", list, *list ? ", " : "",
                                m->axis[axis].name, m->axis[axis].size);
        last = axis;
    }
    return list;
}

// The divisors of `size`: all, or those nearest to `near`.
static const char *divisors_text(Elab *e, int64_t size, int64_t near)
{
    int64_t all[2048];
    int n = 0, from = 0;
    for (int64_t d = 1; d * d <= size && n < 1024; d++)
        if (size % d == 0)
            all[n++] = d;
    for (int i = n - 1, low = n; i >= 0; i--)
        if (all[i] * all[i] != size)
            all[low++] = size / all[i], n = low;
    if (n > MAX_LISTED) {
        while (from < n && all[from] < near)
            from++;
        from = from > 2 ? from - 2 : 0;
        n = from + 4 < n ? from + 4 : n;
    }
    const char *list = "";
    for (int i = from; i < n; i++)
        list = arena_printf(e->arena, "%s%s%ld", list, i > from ? ", " : "",
                            (long)all[i]);
    return list;
}

// An axis without which the dimension would divide.
static const char *axis_to_drop(Elab *e, int64_t size, const Split *s)
{
    const Mesh *m = &e->options->mesh;
    int64_t pieces = split_pieces(m, s);
    for (int i = s->n - 1; i >= 0; i--) {
        const Axis *x =
            s->item[i] < 0 ? NULL : &m->axis[m->atom[s->item[i]].axis];
        if (x && x->size < pieces && size % (pieces / x->size) == 0)
            return arena_printf(e->arena, "; without axis %s it fits", x->name);
    }
    return "";
}

void place_check_size(Elab *e, const Placement *p, int i, const Split *s)
{
    int64_t size = p->type->dim[i], pieces = split_pieces(&e->options->mesh, s);
    if (e->options->uneven_pad || pieces == 0 || size % pieces == 0)
        return;
    int k = i - p->is_stack;
    const char *name = k < 0              ? p->front
                       : p->axes->is_mesh ? NULL
                                          : p->axes->dim.at[k].at[0].s;
    const char *written = p->size && p->size[i] ? p->size[i] : NULL;
    elab_fail(e, name_at(p, i),
              "%s: dimension %s%s%d of size %s%s%ld does not divide over %s "
              "(product %ld); products that divide it: %s%s",
              p->what, name ? name : "", name ? ", number " : "", i + 1,
              written ? written : "", written ? " = " : "", (long)size,
              axes_text(e, s), (long)pieces, divisors_text(e, size, pieces),
              axis_to_drop(e, size, s));
}
