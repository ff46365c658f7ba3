#include "emit/nest_code.h"

#include <assert.h>

#include "emit/point.h"

int lanes_for(const Gen *g, int64_t size)
{
    int lanes = g->lanes;
    while (lanes > size && lanes > 1)
        lanes /= 2;
    return lanes;
}

void nest_code_start(NestCode *c, Gen *g, const Nest *n, DType out,
                     const LLVMValueRef base[])
{
    *c = (NestCode){
        .g = g, .nest = n, .out_dtype = out, .vector_loop = -1, .lanes = 1};
    c->now.out = base[0];
    for (int i = 0; i < n->nnode; i++)
        c->now.address[i] = base[n->node[i].access];
}

void nest_code_enter(NestCode *c, int loop, LLVMValueRef i)
{
    const Gen *g = c->g;
    c->now.open |= 1u << loop;
    for (int k = 0; k < c->nest->nnode; k++) {
        const Node *n = &c->nest->node[k];
        if (!n->stride[loop])
            continue;
        if (n->kind == NODE_index)
            c->now.address[k] =
                gen_add(g, c->now.address[k], gen_scale(g, i, n->stride[loop]));
        else
            c->now.address[k] = gen_address(
                g, c->now.address[k],
                gen_scale(g, i, n->stride[loop] * dtype_bytes[n->dtype]));
    }
    if (loop < c->nest->nroot && c->nest->out[loop])
        c->now.out = gen_address(
            g, c->now.out,
            gen_scale(g, i, c->nest->out[loop] * dtype_bytes[c->out_dtype]));
}

static bool is_vector(LLVMValueRef x)
{
    return LLVMGetTypeKind(LLVMTypeOf(x)) == LLVMVectorTypeKind;
}

static int node_lanes(const NestCode *c, const Node *n)
{
    bool changes = c->vector_loop >= 0 && (n->loops >> c->vector_loop & 1);
    return changes ? c->lanes : 1;
}

// Lane by lane, where neighbours do not lie side by side.
static LLVMValueRef load_spread(const NestCode *c, const Node *n,
                                LLVMValueRef p, int lanes)
{
    const Gen *g = c->g;
    int64_t step = n->stride[c->vector_loop] * dtype_bytes[n->dtype];
    LLVMValueRef x = LLVMGetPoison(gen_compute_type(g, n->dtype, lanes));
    for (int i = 0; i < lanes; i++) {
        LLVMValueRef one =
            gen_load_as(g, n->dtype, gen_offset(g, p, i * step), 1);
        x = LLVMBuildInsertElement(g->b, x, one, gen_i32(g, i), "");
    }
    return x;
}

static LLVMValueRef load_node(const NestCode *c, int i, int lanes)
{
    const Node *n = &c->nest->node[i];
    if (lanes > 1 && n->stride[c->vector_loop] != 1)
        return load_spread(c, n, c->now.address[i], lanes);
    return gen_load_as(c->g, n->dtype, c->now.address[i], lanes);
}

static LLVMValueRef index_node(const NestCode *c, int i, int lanes)
{
    const Gen *g = c->g;
    const Node *n = &c->nest->node[i];
    LLVMValueRef step[MAX_LANES];
    LLVMValueRef x = LLVMBuildTrunc(g->b, c->now.address[i], g->i32, "");
    x = gen_splat(g, x, lanes);
    for (int k = 0; k < lanes; k++)
        step[k] = gen_i32(g, lanes > 1 ? k * n->stride[c->vector_loop] : 0);
    if (lanes > 1)
        x = gen_add(g, x, LLVMConstVector(step, (unsigned)lanes));
    if (!dtype_is_float(n->dtype))
        return x;
    return LLVMBuildSIToFP(g->b, x, gen_vector(g->f32, lanes), "");
}

static LLVMValueRef point_node(NestCode *c, const Node *n, int lanes)
{
    LLVMValueRef x[4];
    for (int i = 0; i < n->narg; i++)
        x[i] = node_value(c, n->arg[i], lanes);
    return point_emitter[n->op->code](c->g, n->op, x, lanes);
}

static LLVMValueRef compute_node(NestCode *c, int i)
{
    const Node *n = &c->nest->node[i];
    int lanes = node_lanes(c, n);
    LLVMValueRef x = NULL;
    switch (n->kind) {
    case NODE_load: return load_node(c, i, lanes);
    case NODE_index: x = index_node(c, i, lanes); break;
    case NODE_number: x = gen_number(c->g, n->dtype, n->number, 1); break;
    case NODE_point: x = point_node(c, n, lanes); break;
    case NODE_reduce: x = node_reduce(c, i); break;
    case NODE_product:
        x = gen_load(c->g, gen_vector(c->g->f32, lanes), c->sums, 4);
    }
    return n->dtype == DT_bf16
               ? gen_round_bf16(c->g, x, is_vector(x) ? lanes : 1)
               : x;
}

LLVMValueRef node_value(NestCode *c, int i, int lanes)
{
    if (!c->now.value[i])
        c->now.value[i] = compute_node(c, i);
    LLVMValueRef x = c->now.value[i];
    return lanes > 1 && !is_vector(x) ? gen_splat(c->g, x, lanes) : x;
}

void nest_code_hoist(NestCode *c, int limit)
{
    for (int i = 0; i < limit; i++)
        if (!(c->nest->node[i].loops & ~c->now.open))
            node_value(c, i, 1);
}

void nest_code_store(NestCode *c)
{
    const Gen *g = c->g;
    DType t = c->out_dtype;
    int lanes = c->vector_loop >= 0 ? c->lanes : 1;
    LLVMValueRef x = node_value(c, c->nest->root, lanes);
    int64_t stride = lanes > 1 ? c->nest->out[c->vector_loop] : 1;
    if (stride == 1) {
        gen_store_as(g, t, x, c->now.out, lanes);
        return;
    }
    for (int i = 0; i < lanes; i++)
        gen_store_as(g, t, LLVMBuildExtractElement(g->b, x, gen_i32(g, i), ""),
                     gen_offset(g, c->now.out, i * stride * dtype_bytes[t]), 1);
}

// The innermost loop, `lanes` steps at a time.
static void run_inner(NestCode *c, int loop, int64_t from, int64_t to,
                      int lanes)
{
    Loop l;
    Scope outer = c->now;
    if (from >= to)
        return;
    c->lanes = lanes;
    c->vector_loop = lanes > 1 ? loop : -1;
    loop_count(c->g, &l, from, to, lanes);
    nest_code_enter(c, loop, l.i);
    nest_code_store(c);
    loop_end(c->g, &l, NULL);
    c->vector_loop = -1;
    c->now = outer;
}

static int last_loop(uint32_t loops)
{
    return loops ? 31 - __builtin_clz(loops) : -1;
}

// Whether vectors are better made along a reduction in the innermost loop than
// along that loop: more loads are dense along it.
static bool prefers_reduction(const Nest *n)
{
    int last = n->nroot - 1, along = 0, across = 0;
    for (int r = 0; r < n->nnode; r++) {
        const Node *reduce = &n->node[r];
        if (!(reduce->loops >> last & 1) || !reduce->own)
            continue;
        int own = last_loop(reduce->own);
        for (int i = 0; i < r; i++) {
            along += n->node[i].stride[own] == 1;
            across += n->node[i].stride[own] && n->node[i].stride[last] == 1;
        }
    }
    return along > across;
}

static void run_loops(NestCode *c, int loop)
{
    const Nest *n = c->nest;
    nest_code_hoist(c, n->nnode);
    if (loop == n->nroot) {
        nest_code_store(c);
        return;
    }
    if (loop == n->nroot - 1 && !prefers_reduction(n)) {
        int lanes = lanes_for(c->g, n->size[loop]);
        int64_t whole = n->size[loop] / lanes * lanes;
        run_inner(c, loop, 0, whole, lanes);
        run_inner(c, loop, whole, n->size[loop], 1);
        return;
    }
    Loop l;
    Scope outer = c->now;
    loop_count(c->g, &l, 0, n->size[loop], 1);
    nest_code_enter(c, loop, l.i);
    run_loops(c, loop + 1);
    loop_end(c->g, &l, NULL);
    c->now = outer;
}

void nest_code_run(NestCode *c)
{
    run_loops(c, 0);
}
