// Checks of the mesh against the rules: an axis that nothing names, and a name
// that is an axis misspelt.
#include <string.h>

#include "frontend/place.h"

// The axes of MaxText's meshes. Most meshes lack most of them.
static const char *const usual[] = {
    "data",
    "stage",
    "fsdp",
    "fsdp_transpose",
    "sequence",
    "context",
    "context_autoregressive",
    "context_usp_ulysses",
    "tensor",
    "tensor_transpose",
    "tensor_sequence",
    "expert",
    "autoregressive",
    "diloco",
};

static bool is_usual(const char *axis)
{
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (strcmp(usual[i], axis) == 0)
            return true;
    return false;
}

static bool has_axis(const AxisRule *r, const char *axis)
{
    for (int i = 0; i < r->naxis; i++)
        if (strcmp(r->axis[i], axis) == 0)
            return true;
    return false;
}

// Whether a rule names both (a may be b).
static bool stand_together(const Rules *r, const char *a, const char *b)
{
    for (int i = 0; i < r->rules.n; i++)
        if (has_axis(&r->rules.at[i], a) && has_axis(&r->rules.at[i], b))
            return true;
    return false;
}

// Two axes in one rule are two axes, however alike: dp1, dp2. Marks the axis
// that was meant.
static void check_rule(Elab *e, const AxisRule *rule, const Words *axes,
                       bool meant[])
{
    const Mesh *m = &e->options->mesh;
    for (int i = 0; i < rule->naxis; i++) {
        const char *axis = rule->axis[i];
        if (mesh_find(m, axis) >= 0 || is_usual(axis))
            continue;
        const char *near = nearest(axis, axes);
        if (!near || stand_together(e->options->rules, axis, near))
            continue;
        meant[mesh_find(m, near)] = true;
        if (elab_first(e, arena_printf(e->arena, "unknown axis %s", axis)))
            diag_warn(e->diag, W_unknown_axis, rule->axis_at[i],
                      "rule names axis %s, which the mesh lacks; did you mean "
                      "%s?",
                      axis, near);
    }
}

// The axes that rules name and the mesh lacks.
static Words missing_axes(Elab *e)
{
    const Rules *r = e->options->rules;
    Words words = {0};
    for (int i = 0; i < r->rules.n; i++)
        for (int k = 0; k < r->rules.at[i].naxis; k++)
            if (mesh_find(&e->options->mesh, r->rules.at[i].axis[k]) < 0)
                vec_push(e->arena, &words, r->rules.at[i].axis[k]);
    return words;
}

void axes_check(Elab *e)
{
    const Rules *r = e->options->rules;
    const Mesh *m = &e->options->mesh;
    bool meant[MAX_AXES] = {false};
    Words axes = {0};
    if (!r)
        return;
    for (int i = 0; i < m->naxis; i++)
        vec_push(e->arena, &axes, m->axis[i].name);
    for (int i = 0; i < r->rules.n; i++)
        check_rule(e, &r->rules.at[i], &axes, meant);
    Words missing = missing_axes(e);
    for (int i = 0; i < m->naxis; i++) {
        const char *name = m->axis[i].name;
        if (m->axis[i].size == 1 || meant[i] || e->axis_named[i] ||
            stand_together(r, name, name))
            continue;
        const char *near = nearest(name, &missing);
        diag_warn(e->diag, W_unused_axis, (Span){0},
                  "nothing can be split over mesh axis %s: no rule of %s names "
                  "it%s",
                  name, r->name,
                  near ? arena_printf(e->arena, "; did you mean %s?", near)
                       : "");
    }
}
