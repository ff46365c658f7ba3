// The loop nest of the values that are computed together.
#include <assert.h>

#include "emit/value.h"

typedef struct Build {
    Frame *frame;
    Group *group;
    Kernel *kernel;
    Nest *nest;
} Build;

static int add_access(Build *b, Buffer *buffer, DType dtype, const View *view)
{
    Kernel *k = b->kernel;
    for (int i = 1; i < k->access.n; i++) {
        const Access *a = &k->access.at[i];
        if (a->buffer == buffer && view_equal(&a->view, view))
            return i;
    }
    assert(k->access.n < MAX_ACCESSES);
    vec_push(b->frame->plan->arena, &k->access,
             ((Access){buffer, dtype, *view}));
    return k->access.n - 1;
}

static int add_node(Build *b, Node n)
{
    assert(b->nest->nnode < MAX_NODES);
    b->nest->node[b->nest->nnode] = n;
    return b->nest->nnode++;
}

// A value of memory or, without a buffer, the index itself.
static int add_load(Build *b, Buffer *buffer, DType dtype, const View *view)
{
    Node n = {.kind = buffer ? NODE_load : NODE_index, .dtype = dtype};
    n.access = add_access(b, buffer, dtype, view);
    for (int i = 0; i < view->rank; i++) {
        n.stride[i] = view->dim[i].size > 1 ? view->dim[i].stride : 0;
        if (n.stride[i])
            n.loops |= 1u << i;
    }
    if (view_is_empty(view)) // not to be read, so not before the loops
        n.loops = (1u << view->rank) - 1;
    return add_node(b, n);
}

static int add_index(Build *b, const Op *op, const View *points, DType dtype)
{
    View view, index;
    index = op_index_view(&b->frame->plan->module->mesh, op);
    bool ok = view_compose(points, &index, &view);
    assert(ok);
    (void)ok;
    return add_load(b, NULL, dtype, &view);
}

static int add_number(Build *b, DType dtype, double number)
{
    return add_node(
        b, (Node){.kind = NODE_number, .dtype = dtype, .number = number});
}

static int add_value(Build *b, Value *v, const View *view);

// An op that is computed at any point, from its one operand there.
static int add_repeated(Build *b, const Value *v, const View *view)
{
    View base, points;
    Node n = {.kind = NODE_point, .op = v->op, .dtype = v->op->type.dtype};
    Value *source = value_base(b->frame, v->op->operand[0], &base);
    bool ok = view_compose(view, &base, &points);
    assert(ok);
    (void)ok;
    n.arg[n.narg++] = add_value(b, source, &points);
    n.loops = b->nest->node[n.arg[0]].loops;
    return add_node(b, n);
}

static void add_operands(Build *b, Value *v, Node *n)
{
    for (int i = 0; i < value_noperand(v); i++) {
        View view;
        Value *source;
        bool ok = value_operand(b->frame, v, i, &source, &view);
        assert(ok);
        (void)ok;
        n->arg[n->narg++] = add_value(b, source, &view);
    }
    if (op_lowering[v->op->code].takes_index)
        n->arg[n->narg++] = add_index(b, v->op, &v->view, DT_i32);
    for (int i = 0; i < n->narg; i++)
        n->loops |= b->nest->node[n->arg[i]].loops;
}

// n has the operands; those of a product are multiplied first.
static void make_reduction(Build *b, const Value *v, Node *n)
{
    if (n->narg > 1) {
        Node product = *n;
        product.kind = NODE_point;
        product.dtype = dtype_is_float(n->dtype) ? DT_f32 : n->dtype;
        n->narg = 1;
        n->arg[0] = add_node(b, product);
    }
    for (int i = 0; i < v->nown; i++)
        n->own |= 1u << (v->first_loop + i);
    n->loops &= ~n->own;
}

// The value at its own points in the group: an op of its operands.
static int add_computed(Build *b, Value *v)
{
    Node n = {.op = v->op, .dtype = v->op->type.dtype};
    Lowering how = value_lower(v);
    if (v->node)
        return v->node - 1;
    if (how == LOWER_leaf) {
        const Attr *value = op_attr(v->op, A_value);
        return value ? add_number(b, n.dtype, value->floats[0])
                     : add_index(b, v->op, &v->view, n.dtype);
    }
    if (how == LOWER_product) {
        n.kind = NODE_product;
        n.loops = (1u << b->group->nroot) - 1;
        b->nest->has_product = true;
        b->kernel->product = v->op;
    } else {
        n.kind = how == LOWER_reduce ? NODE_reduce : NODE_point;
        add_operands(b, v, &n);
    }
    if (how == LOWER_view)
        return n.arg[0];
    if (how == LOWER_reduce)
        make_reduction(b, v, &n);
    v->node = 1 + add_node(b, n);
    return v->node - 1;
}

static int add_value(Build *b, Value *v, const View *view)
{
    if (v->kind == VALUE_stored)
        return add_load(b, v->buffer, v->op->type.dtype, view);
    if (v->kind == VALUE_inline)
        return add_computed(b, v);
    if (v->kind == VALUE_repeated)
        return add_repeated(b, v, view);
    assert(v->kind == VALUE_leaf);
    const Attr *value = op_attr(v->op, A_value);
    return value ? add_number(b, v->op->type.dtype, value->floats[0])
                 : add_index(b, v->op, view, v->op->type.dtype);
}

static Build start(Frame *f, Group *g, const Op *op, Buffer *to,
                   const View *where)
{
    Arena *a = f->plan->arena;
    Build b = {f, g, arena_new(a, Kernel, 1), arena_new(a, Nest, 1)};
    b.kernel->op = op;
    b.kernel->nest = b.nest;
    vec_push(a, &b.kernel->access, ((Access){to, op->type.dtype, *where}));
    b.nest->nroot = g->nroot;
    b.nest->nloop = g->nloop;
    for (int i = 0; i < g->nloop; i++)
        b.nest->size[i] = g->size[i];
    for (int i = 0; i < g->nroot; i++)
        b.nest->out[i] = where->dim[i].stride;
    return b;
}

static void add_product_operands(Build *b)
{
    for (int i = 0; i < b->kernel->product->noperand; i++) {
        View view;
        const Op *op = b->kernel->product->operand[i];
        Value *v = value_base(b->frame, op, &view);
        assert(v->kind == VALUE_stored);
        vec_push(b->frame->plan->arena, &b->kernel->access,
                 ((Access){v->buffer, op->type.dtype, view}));
    }
}

// A product's operands come last, so that they are easy to find.
static Kernel *finish(Build *b, int root)
{
    b->nest->root = root;
    if (b->nest->has_product)
        add_product_operands(b);
    else
        nest_simplify(b->nest);
    return b->kernel;
}

Kernel *root_kernel(Frame *f, const Value *root, Buffer *to, const View *where)
{
    Build b = start(f, root->group, root->op, to, where);
    return finish(&b, add_computed(&b, (Value *)root));
}

Kernel *part_kernel(Frame *f, const Value *v, int part, Buffer *to,
                    const View *where)
{
    View view;
    Group *g = f->parts[v->op->id][part];
    Value *source = value_base(f, v->op->operand[part], &view);
    Build b = start(f, g, v->op, to, where);
    return finish(&b, add_value(&b, source, &view));
}

static Group group_over(const View *where)
{
    Group g = {.nloop = where->rank, .nroot = where->rank};
    for (int i = 0; i < where->rank; i++)
        g.size[i] = where->dim[i].size;
    return g;
}

Kernel *copy_kernel(Frame *f, const Op *op, Buffer *to)
{
    View view, where = view_identity(&op->type);
    Value *source = value_base(f, op, &view);
    Group g = group_over(&where);
    Build b = start(f, &g, op, to, &where);
    return finish(&b, add_value(&b, source, &view));
}

Kernel *zero_kernel(Frame *f, const Op *op, Buffer *to, const View *where)
{
    Group g = group_over(where);
    Build b = start(f, &g, op, to, where);
    return finish(&b, add_number(&b, op->type.dtype, 0));
}
