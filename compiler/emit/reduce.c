// Reductions inside a loop nest.
//
// Where the points around are already a vector, sums are vectors over them.
// Else vectors run along the innermost loop of the reduction, several at a
// time to hide the latency of addition, and are combined at the end.
#include "emit/nest_code.h"
#include "emit/point.h"

enum {
    SUMS = 4, // at a time
};

typedef struct Reduction {
    NestCode *code;
    const Node *node;
    int index;
    DType dtype; // of the sums
    int loop[MAX_LOOPS];
    int nloop;
    int nsum;
    int64_t lanes;              // of the vector sums
    LLVMValueRef sum[SUMS + 1]; // the last one: single points
} Reduction;

static LLVMValueRef combine(const Reduction *r, LLVMValueRef a, LLVMValueRef b)
{
    return point_combine(r->code->g, r->node->op->code, r->dtype, a, b);
}

// Adds the operand at the open loops to a sum.
static void add_point(Reduction *r, int loop, LLVMValueRef i, int sum)
{
    NestCode *c = r->code;
    Scope outer = c->now;
    nest_code_enter(c, loop, i);
    int lanes = c->vector_loop >= 0 ? c->lanes : 1;
    LLVMValueRef x = node_value(c, r->node->arg[0], lanes);
    r->sum[sum] = combine(r, r->sum[sum], x);
    c->now = outer;
}

// The innermost loop from `from` to `to`, n vectors at a time.
static void add_run(Reduction *r, int64_t from, int64_t to, int64_t lanes,
                    int n, int first)
{
    Loop l;
    NestCode *c = r->code;
    const Gen *g = c->g;
    int loop = r->loop[r->nloop - 1];
    int vector_loop = c->vector_loop, outer_lanes = c->lanes;
    if (from >= to)
        return;
    if (lanes > 0) {
        c->vector_loop = lanes > 1 ? loop : -1;
        c->lanes = (int)lanes;
    }
    int64_t step = lanes > 0 ? lanes : 1;
    loop_begin(g, &l, gen_i64(g, from), gen_i64(g, to), gen_i64(g, step * n),
               SUMS + 1, r->sum);
    for (int i = 0; i <= SUMS; i++)
        r->sum[i] = l.carry[i];
    for (int i = 0; i < n; i++)
        add_point(r, loop, i ? gen_add(g, l.i, gen_i64(g, i * step)) : l.i,
                  first + i);
    loop_end(g, &l, r->sum);
    for (int i = 0; i <= SUMS; i++)
        r->sum[i] = l.carry[i];
    c->vector_loop = vector_loop;
    c->lanes = outer_lanes;
}

static void add_inner(Reduction *r)
{
    const Nest *n = r->code->nest;
    int64_t size = n->size[r->loop[r->nloop - 1]];
    if (r->lanes == 0) { // vectors over the points around
        add_run(r, 0, size, 0, 1, 0);
        return;
    }
    int64_t many = r->nsum > 1 ? size / (r->lanes * SUMS) * r->lanes * SUMS : 0;
    int64_t whole = size / r->lanes * r->lanes;
    add_run(r, 0, many, r->lanes, SUMS, 0);
    add_run(r, many, whole, r->lanes, 1, 0);
    add_run(r, whole, size, 1, 1, SUMS);
}

static void add_outer(Reduction *r, int depth)
{
    Loop l;
    NestCode *c = r->code;
    nest_code_hoist(c, r->index);
    if (depth == r->nloop - 1) {
        add_inner(r);
        return;
    }
    Scope outer = c->now;
    int loop = r->loop[depth];
    loop_begin(c->g, &l, gen_i64(c->g, 0), gen_i64(c->g, c->nest->size[loop]),
               gen_i64(c->g, 1), SUMS + 1, r->sum);
    for (int i = 0; i <= SUMS; i++)
        r->sum[i] = l.carry[i];
    nest_code_enter(c, loop, l.i);
    add_outer(r, depth + 1);
    loop_end(c->g, &l, r->sum);
    for (int i = 0; i <= SUMS; i++)
        r->sum[i] = l.carry[i];
    c->now = outer;
}

// Combines the lanes of a vector, half by half.
static LLVMValueRef combine_lanes(const Reduction *r, LLVMValueRef x, int lanes)
{
    const Gen *g = r->code->g;
    for (; lanes > 1; lanes /= 2) {
        int low[MAX_LANES], high[MAX_LANES];
        for (int i = 0; i < lanes / 2; i++) {
            low[i] = i;
            high[i] = i + lanes / 2;
        }
        x = combine(r, gen_shuffle(g, x, x, lanes / 2, low),
                    gen_shuffle(g, x, x, lanes / 2, high));
    }
    if (LLVMGetTypeKind(LLVMTypeOf(x)) != LLVMVectorTypeKind)
        return x;
    return LLVMBuildExtractElement(g->b, x, gen_i32(g, 0), "");
}

static LLVMValueRef finish(const Reduction *r)
{
    LLVMValueRef x = r->sum[0];
    if (r->lanes == 0)
        return x;
    for (int i = 1; i < SUMS; i++)
        if (r->nsum > 1)
            x = combine(r, x, r->sum[i]);
    if (r->lanes > 1)
        x = combine_lanes(r, x, (int)r->lanes);
    return combine(r, x, r->sum[SUMS]);
}

LLVMValueRef node_reduce(NestCode *c, int i)
{
    const Node *n = &c->nest->node[i];
    Reduction r = {
        .code = c, .node = n, .index = i, .dtype = n->dtype, .nsum = 1};
    bool in_vector = c->vector_loop >= 0 && (n->loops >> c->vector_loop & 1);
    OpCode code = n->op->code;
    for (int k = 0; k < c->nest->nloop; k++)
        if (n->own >> k & 1)
            r.loop[r.nloop++] = k;
    if (!r.nloop)
        return node_value(c, n->arg[0], in_vector ? c->lanes : 1);
    int64_t size = c->nest->size[r.loop[r.nloop - 1]];
    r.lanes = in_vector ? 0 : lanes_for(c->g, size);
    if (!in_vector && size >= r.lanes * 2 * SUMS)
        r.nsum = SUMS;
    for (int k = 0; k <= SUMS; k++) {
        int lanes = k == SUMS ? 1 : in_vector ? c->lanes : (int)r.lanes;
        r.sum[k] = point_identity(c->g, code, r.dtype, lanes);
    }
    Scope outer = c->now;
    int vector_loop = c->vector_loop, lanes = c->lanes;
    add_outer(&r, 0);
    c->vector_loop = vector_loop;
    c->lanes = lanes;
    LLVMValueRef x = finish(&r);
    c->now = outer;
    return x;
}
