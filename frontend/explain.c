// `explain --rules`: what the walk over the rules did to one tensor.
#include <string.h>

#include "frontend/rules.h"

static void print_axes(const AxisRule *rule, FILE *out)
{
    for (int i = 0; i < rule->naxis; i++)
        fprintf(out, "%s%s", i ? ", " : "", rule->axis[i]);
    if (rule->naxis == 0)
        fputs("(replicated)", out);
}

static void print_trial(const Rules *r, const RuleTrial *t,
                        const char *const logical[], FILE *out)
{
    const AxisRule *rule = &r->rules.at[t->rule];
    fprintf(out, "        rule %d: %s -> ", t->rule + 1, rule->logical);
    print_axes(rule, out);
    if (t->verdict == RULE_FIRED)
        fputs(": fires\n", out);
    else if (t->verdict == RULE_DIM_TAKEN)
        fputs(": skipped, the dimension has its axes\n", out);
    else
        fprintf(out, ": skipped, %s is used by %s\n", t->axis, logical[t->by]);
}

// The axes of a fired rule that count for nothing on this mesh.
static void print_dropped(const AxisRule *rule, const Mesh *m, FILE *out)
{
    bool any = false;
    for (int i = 0; i < rule->naxis; i++) {
        int axis = mesh_find(m, rule->axis[i]);
        if (axis >= 0 && m->axis[axis].size > 1)
            continue;
        fprintf(out, "%s%s %s", any ? ", " : "        dropped: ", rule->axis[i],
                axis < 0 ? "(not in the mesh)" : "(size 1)");
        any = true;
    }
    if (any)
        fputc('\n', out);
}

static void print_dim(const Rules *r, const Resolution *res, int dim,
                      const char *const logical[], const Mesh *m, FILE *out)
{
    const char *name = logical[dim] ? logical[dim] : "_";
    const char *means = rules_meaning(r, name);
    Split s = resolution_split(res, dim, m);
    fprintf(out, "    %d  %s", dim, name);
    if (strcmp(means, name) != 0)
        fprintf(out, " = %s", means);
    fputs(": ", out);
    if (s.n)
        split_print(m, &s, out);
    else
        fputs("replicated", out);
    fputc('\n', out);
    for (int i = 0; i < res->trials.n; i++)
        if (res->trials.at[i].dim == dim)
            print_trial(r, &res->trials.at[i], logical, out);
    if (!res->known[dim])
        fprintf(out, "        no rule of %s has this name\n", r->name);
    if (res->fired[dim])
        print_dropped(res->fired[dim], m, out);
}

void resolution_explain(const Rules *r, const Resolution *res,
                        const char *const logical[], const Mesh *m, FILE *out)
{
    for (int dim = 0; dim < res->ndim; dim++)
        print_dim(r, res, dim, logical, m, out);
}
