// What is stored, what is seen through a view, and what is computed inside the
// loop nest of its user.
//
// First, in order: views are composed down to a value that is none; where two
// do not compose, the operand is stored as a copy. Then, in reverse: a value
// whose uses are all in one nest, at the same points, is computed there, if
// that repeats no work; each value tells its operands' sources how it uses
// them, so that all uses are known when a value is decided.
#include "emit/value.h"

enum {
    MAX_GROUP = 20, // values in a nest
};

Lowering value_lower(const Value *v)
{
    return v->source ? LOWER_view : op_lower(v->op);
}

int value_noperand(const Value *v)
{
    return v->source ? 1 : v->op->noperand;
}

Value *value_base(Frame *f, const Op *op, View *view)
{
    Value *v = &f->value[op->id];
    if (v->kind == VALUE_view) {
        *view = v->view;
        return v->source;
    }
    *view = view_identity(&op->type);
    return v;
}

// --- views -------------------------------------------------------------------

static void see_view(Frame *f, const Op *op)
{
    View shown = {0}, base;
    Value *v = &f->value[op->id];
    const Op *operand = op->operand[0];
    op_lowering[op->code].view(&f->plan->module->mesh, op, &shown);
    v->source = value_base(f, operand, &base);
    if (!view_compose(&shown, &base, &v->view)) {
        v->source = &f->value[operand->id];
        v->source->kind = VALUE_stored;
        v->view = shown;
    }
    v->kind = VALUE_view;
}

static bool wants_memory(const Op *op)
{
    Lowering how = op_lower(op);
    return how == LOWER_kernel || how == LOWER_product ||
           how == LOWER_collective || how == LOWER_loop;
}

static bool has_turn(const View *v)
{
    for (int i = v->rank; i < v->n; i++)
        if (v->dim[i].kind == INDEX_TURN)
            return true;
    return false;
}

// Numbers and indexes are no memory; a collective wants one dense piece; the
// turn of an outer loop is not known in an inner one.
static void store_operand(Frame *f, const Op *op, Lowering user)
{
    View view;
    Value *source = value_base(f, op, &view);
    bool wants_dense = user == LOWER_collective || user == LOWER_none;
    if (source->kind == VALUE_leaf || (wants_dense && !view_is_dense(&view)) ||
        (user == LOWER_loop && has_turn(&view)))
        f->value[op->id].kind = VALUE_stored;
}

static void see_values(Frame *f)
{
    for_each_op (op, f->func) {
        Value *v = &f->value[op->id];
        Lowering how = op_lower(op);
        if (how == LOWER_view)
            see_view(f, op);
        if (how == LOWER_leaf)
            v->kind = VALUE_leaf;
        for (int i = 0; wants_memory(op) && i < op->noperand; i++)
            store_operand(f, op->operand[i], how);
    }
    for (int i = 0; i < f->func->results.n; i++)
        store_operand(f, f->func->results.at[i], LOWER_none);
}

// --- uses --------------------------------------------------------------------

// The points of a reduction's operand: those of its result, then its own
// loops, which are the group's from first_loop on.
static bool reduce_points(const Value *v, int operand, View *out)
{
    Contraction c = op_contraction(v->op, operand);
    if (!view_compose(&v->view, &c.kept, out))
        return false;
    while (out->rank < v->first_loop)
        view_add_loop(out, v->group->size[out->rank], 0);
    for (int i = 0; i < c.nown; i++)
        view_add_loop(out, c.size[i], c.stride[i]);
    return true;
}

// An index must change evenly with the loops.
static bool is_computable(Frame *f, const Value *source, const View *view)
{
    View index, ignore;
    if (source->kind != VALUE_leaf || op_attr(source->op, A_value))
        return true;
    index = op_index_view(&f->plan->module->mesh, source->op);
    return view_compose(view, &index, &ignore);
}

bool value_operand(Frame *f, const Value *v, int i, Value **source, View *view)
{
    View base, points = v->view;
    Lowering how = value_lower(v);
    if (how == LOWER_view) { // a stored copy
        *source = v->source;
        *view = v->view;
        return is_computable(f, *source, view);
    }
    *source = value_base(f, v->op->operand[i], &base);
    if (how == LOWER_reduce && !reduce_points(v, i, &points))
        return false;
    return view_compose(&points, &base, view) &&
           is_computable(f, *source, view);
}

static uint32_t loops_of(const View *v)
{
    uint32_t loops = 0;
    for (int i = 0; i < v->rank; i++)
        if (v->dim[i].stride && v->dim[i].size > 1)
            loops |= 1u << i;
    return loops;
}

static uint32_t scope_of(const Value *v)
{
    uint32_t own = 0;
    const Group *g = v->group;
    uint32_t scope = loops_of(&v->view);
    if (g->root == v)
        for (int i = 0; i < g->nroot; i++)
            scope |= (uint32_t)(g->size[i] > 1) << i;
    if (value_lower(v) == LOWER_reduce)
        for (int i = 0; i < v->nown; i++)
            own |= (uint32_t)(g->size[v->first_loop + i] > 1)
                   << (v->first_loop + i);
    return scope | own;
}

static void add_use(Frame *f, Value *source, Group *g, bool ok,
                    const View *view, uint32_t scope)
{
    Edge e = {.group = g, .ok = ok, .scope = scope};
    if (view)
        e.view = *view;
    vec_push(f->plan->arena, &source->edges, e);
}

static void add_uses(Frame *f, const Value *v)
{
    View view;
    Value *source;
    for (int i = 0; i < value_noperand(v); i++) {
        bool in_nest = v->group && v->group->product != v;
        bool ok = in_nest && value_operand(f, v, i, &source, &view);
        if (in_nest)
            add_use(f, source, v->group, ok, &view, scope_of(v));
        else
            add_use(f, value_base(f, v->op->operand[i], &view), NULL, false,
                    NULL, 0);
    }
}

// --- decisions ---------------------------------------------------------------

static Group *new_group(Frame *f, Value *root, const Type *type)
{
    Group *g = arena_new(f->plan->arena, Group, 1);
    g->root = root;
    g->nroot = g->nloop = type->rank;
    for (int i = 0; i < type->rank; i++)
        g->size[i] = type->dim[i];
    return g;
}

// A reduction's loops come after all that the group has.
static bool add_own_loops(Value *v)
{
    Group *g = v->group;
    const Op *op = v->op;
    v->first_loop = g->nloop;
    if (op_lower(op) != LOWER_reduce)
        return true;
    Contraction c = op_contraction(op, 0);
    if (g->nloop + c.nown > MAX_LOOPS || g->product)
        return false;
    for (int i = 0; i < c.nown; i++)
        g->size[g->nloop++] = c.size[i];
    v->nown = c.nown;
    return true;
}

static bool uses_agree(const Value *v)
{
    const Edge *first = v->edges.at;
    if (!v->edges.n || !first->group || first->group->nvalue >= MAX_GROUP)
        return false;
    for (int i = 0; i < v->edges.n; i++) {
        const Edge *e = &v->edges.at[i];
        if (e->group != first->group || !e->ok ||
            !view_equal(&e->view, &first->view))
            return false;
    }
    return true;
}

// Whether the loops around a use that the value does not change with are the
// innermost ones, so that each point is computed once.
static bool is_computed_once(const Value *v)
{
    uint32_t loops = loops_of(&v->edges.at[0].view);
    for (int i = 0; i < v->edges.n; i++) {
        uint32_t idle = v->edges.at[i].scope & ~loops;
        uint32_t before_idle = idle ? (idle & -idle) - 1 : ~0u;
        if (loops & ~before_idle)
            return false;
    }
    return true;
}

// A product's sums come tile by tile: only nests over just its result.
static bool can_end_product(const Value *v)
{
    const Group *g = v->edges.at[0].group;
    const View *view = &v->edges.at[0].view;
    if (g->product || g->nloop != g->nroot || g->nroot != v->op->type.rank ||
        !view_is_identity(view))
        return false;
    for (int i = 0; i < g->nroot; i++)
        if (g->size[i] != v->op->type.dim[i])
            return false;
    return true;
}

static bool operands_are_views(Frame *f, const Value *v)
{
    View view, index;
    Value *source;
    if (op_lowering[v->op->code].takes_index) {
        index = op_index_view(&f->plan->module->mesh, v->op);
        if (!view_compose(&v->view, &index, &view))
            return false;
    }
    for (int i = 0; i < value_noperand(v); i++)
        if (!value_operand(f, v, i, &source, &view))
            return false;
    return true;
}

static bool try_inline(Frame *f, Value *v)
{
    Lowering how = value_lower(v);
    if (how != LOWER_point && how != LOWER_reduce && how != LOWER_product)
        return false;
    if (!uses_agree(v) || !is_computed_once(v) ||
        (how == LOWER_product && !can_end_product(v)))
        return false;
    Group *g = v->edges.at[0].group;
    int nloop = g->nloop;
    v->view = v->edges.at[0].view;
    v->group = g;
    if (!add_own_loops(v) ||
        (how != LOWER_product && !operands_are_views(f, v))) {
        g->nloop = nloop;
        v->group = NULL;
        return false;
    }
    if (how == LOWER_product)
        g->product = v;
    g->nvalue++;
    v->kind = VALUE_inline;
    return true;
}

// A cheap value is computed in every nest that uses it: that reads no more,
// and writes nothing.
static bool try_repeat(Frame *f, Value *v)
{
    View base, view;
    if (!op_lowering[v->op->code].is_free || !v->edges.n)
        return false;
    Value *source = value_base(f, v->op->operand[0], &base);
    for (int i = 0; i < v->edges.n; i++) {
        const Edge *e = &v->edges.at[i];
        if (!e->group || !e->ok || !view_compose(&e->view, &base, &view) ||
            !is_computable(f, source, &view))
            return false;
    }
    for (int i = 0; i < v->edges.n; i++) {
        const Edge *e = &v->edges.at[i];
        view_compose(&e->view, &base, &view);
        add_use(f, source, e->group, true, &view, e->scope);
    }
    v->kind = VALUE_repeated;
    return true;
}

static void make_root(Frame *f, Value *v)
{
    v->group = new_group(f, v, &v->op->type);
    if (value_lower(v) == LOWER_view)
        return; // v->view already shows the source
    v->view = view_identity(&v->op->type);
    if (value_lower(v) == LOWER_product)
        v->group->product = v;
    else if (value_lower(v) != LOWER_leaf)
        add_own_loops(v);
}

static bool has_nest(const Value *v)
{
    Lowering how = value_lower(v);
    return how == LOWER_view || how == LOWER_leaf || how == LOWER_point ||
           how == LOWER_reduce || how == LOWER_product;
}

// Each operand is copied by a nest of its own, over its points.
static void make_parts(Frame *f, const Value *v)
{
    const Op *op = v->op;
    Group **parts = arena_new(f->plan->arena, Group *, (size_t)op->noperand);
    for (int i = 0; i < op->noperand; i++) {
        View view;
        uint32_t scope = 0;
        Value *source = value_base(f, op->operand[i], &view);
        parts[i] = new_group(f, NULL, &op->operand[i]->type);
        for (int k = 0; k < parts[i]->nroot; k++)
            scope |= (uint32_t)(parts[i]->size[k] > 1) << k;
        add_use(f, source, parts[i], is_computable(f, source, &view), &view,
                scope);
    }
    f->parts[op->id] = parts;
}

// Whether a nest uses an index that does not change evenly with its loops.
static bool is_uneven(const Value *leaf)
{
    for (int i = 0; i < leaf->edges.n; i++)
        if (leaf->edges.at[i].group && !leaf->edges.at[i].ok)
            return true;
    return false;
}

static void decide(Frame *f, Value *v)
{
    if (v->kind == VALUE_view || (v->kind == VALUE_leaf && !is_uneven(v)))
        return;
    bool is_open = v->kind == VALUE_open && !f->plan->stores_all;
    if (is_open && try_inline(f, v)) {
        add_uses(f, v);
        return;
    }
    if (is_open && try_repeat(f, v))
        return;
    v->kind = VALUE_stored;
    if (value_lower(v) == LOWER_param || value_lower(v) == LOWER_result)
        return;
    if (value_lower(v) == LOWER_parts) {
        make_parts(f, v);
        return;
    }
    if (has_nest(v))
        make_root(f, v);
    add_uses(f, v);
}

void fuse_values(Frame *f)
{
    see_values(f);
    for (int i = 0; i < f->func->results.n; i++) {
        View view;
        Value *v = value_base(f, f->func->results.at[i], &view);
        add_use(f, v, NULL, false, NULL, 0);
    }
    for (int i = f->func->ops.n - 1; i >= 0; i--)
        decide(f, &f->value[i]);
}
