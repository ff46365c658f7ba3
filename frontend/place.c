// The placement of a tensor: `@ (embed, mlp)` by the rules, `@ P(fsdp, _)` by
// axes of the mesh. All that is wrong with it is said here, by the names the
// user wrote, before there is a graph for devices.
#include <string.h>

#include "frontend/place.h"

// `explain --rules`: the tensor, then what was tried for each dimension.
static void explain(Elab *e, const Placement *p, const char *const name[],
                    const Resolution *r)
{
    const char *type = type_string(e->arena, &e->options->mesh, p->type, NULL);
    const char *at = span_place(e->arena, p->at);
    if (!e->explain ||
        !elab_first(e, arena_printf(e->arena, "%s %s %s", p->what, type, at)))
        return;
    fprintf(e->explain, "%s: %s   (%s)\n", p->what, type, at);
    resolution_explain(e->options->rules, r, name, &e->options->mesh,
                       e->explain);
}

static void resolve_logical(Elab *e, const Placement *p, Sharding *out)
{
    const char *name[MAX_RANK];
    int n = 0;
    if (p->is_stack)
        name[n++] = p->front;
    for (int i = 0; i < p->axes->dim.n; i++)
        name[n++] = p->axes->dim.at[i].at[0].s;
    if (!e->options->rules)
        return;
    Resolution r = rules_resolve(e->arena, e->options->rules, n, name);
    explain(e, p, name, &r);
    place_check_rules(e, p, name, &r);
    for (int i = 0; i < n; i++)
        out->dim[i] = resolution_split(&r, i, &e->options->mesh);
}

static const char *mesh_text(Elab *e)
{
    const Mesh *m = &e->options->mesh;
    const char *list = "";
    for (int i = 0; i < m->naxis; i++)
        list = arena_printf(e->arena, "%s%s%s", list, i ? ", " : "",
                            m->axis[i].name);
    return list;
}

// A mesh without axes is one device, on which every placement is the same.
static void resolve_mesh(Elab *e, const Placement *p, Sharding *out)
{
    const Mesh *m = &e->options->mesh;
    bool used[MAX_AXES] = {false};
    for (int i = 0; i < p->axes->dim.n && m->naxis; i++) {
        const Names *dim = &p->axes->dim.at[i];
        for (int k = 0; k < dim->n; k++) {
            const Name *name = &dim->at[k];
            int axis = mesh_find(m, name->s);
            if (strcmp(name->s, "_") == 0)
                continue;
            if (axis < 0) {
                elab_fail(e, name->at, "the mesh has no axis `%s`; it has %s",
                          name->s, mesh_text(e));
                continue;
            }
            if (used[axis])
                elab_fail(e, name->at, "%s: axis %s splits two dimensions",
                          p->what, name->s);
            Split s = split_of_axis(m, axis);
            if (!used[axis])
                split_append(&out->dim[i + p->is_stack], &s);
            used[axis] = true;
            e->axis_named[axis] = true;
        }
    }
}

static const char *meaning(const Elab *e, const Name *name)
{
    const Rules *r = e->options->rules;
    return r ? rules_meaning(r, name->s) : name->s;
}

static bool check_duplicates(Elab *e, const Placement *p)
{
    bool ok = true;
    const Axes *x = p->axes;
    for (int i = 0; i < x->dim.n && !x->is_mesh; i++) {
        const Name *name = &x->dim.at[i].at[0];
        for (int k = 0; k < i; k++) {
            const Name *other = &x->dim.at[k].at[0];
            if (strcmp(name->s, "_") == 0 ||
                strcmp(meaning(e, other), meaning(e, name)) != 0)
                continue;
            elab_fail(e, name->at,
                      "%s: dimensions %d and %d have the same logical name %s; "
                      "one mesh axis cannot split both, name one of them `_`",
                      p->what, k + 1, i + 1, name->s);
            ok = false;
            break;
        }
    }
    return ok;
}

bool place(Elab *e, const Placement *p, Sharding *out)
{
    *out = (Sharding){0};
    int before = e->diag->nerror, rank = p->type->rank - p->is_stack;
    if (p->axes->dim.n != rank) {
        elab_fail(e, p->at, "%s has %d dimension%s, its placement names %d",
                  p->what, rank, rank == 1 ? "" : "s", p->axes->dim.n);
        return false;
    }
    if (!check_duplicates(e, p))
        return false;
    if (p->axes->is_mesh)
        resolve_mesh(e, p, out);
    else
        resolve_logical(e, p, out);
    for (int i = 0; i < p->type->rank; i++)
        place_check_size(e, p, i, &out->dim[i]);
    return e->diag->nerror == before;
}

// An input is stored as the first `shard` on it says.
static void place_input(const Elab *e, Op *op, const Sharding *s)
{
    const char *class = op_str(op, A_class);
    if (e->func == e->main && op->code == OP_param && class &&
        strcmp(class, "input") == 0 &&
        sharding_is_whole(&op->sharding, op->type.rank))
        op->sharding = *s;
}

static void shard_one(Elab *e, const Name *name, const Axes *axes, Span at)
{
    const Value *found = scope_find(e, name->s);
    Value v = found ? *found : scope_name(e, name->s, name->at);
    const char *size[MAX_RANK];
    Sharding s;
    if (v.kind == VALUE_BAD)
        return;
    if (v.kind != VALUE_TENSOR || v.is_weight) {
        elab_fail(e, name->at,
                  v.is_weight ? "%s is a weight; it is placed where it is "
                                "declared"
                              : "%s is no tensor",
                  name->s);
        return;
    }
    for (int i = 0; i < v.rank; i++)
        size[i] = v.dim[i].size;
    Placement p = {.what = name->s,
                   .type = &v.op->type,
                   .size = size,
                   .axes = axes,
                   .at = at};
    if (!place(e, &p, &s))
        return;
    place_input(e, v.op, &s);
    v.op = emit_shard(e, at, v.op, &s);
    if (v.op)
        v.op->name = func_unique_name(e->func, name->s);
    scope_set(e, name->s, v.op ? v : (Value){0});
}

void run_shard(Elab *e, const Stmt *s)
{
    Value axes = eval_scalar(e, s->value);
    if (axes.kind != VALUE_AXES && axes.kind != VALUE_BAD)
        elab_fail(e, s->value->at, "`@` wants a list of axes, has %s",
                  kind_text(&axes));
    if (axes.kind != VALUE_AXES)
        return;
    for (int i = 0; i < s->names.n; i++)
        shard_one(e, &s->names.at[i], axes.axes, s->at);
}
