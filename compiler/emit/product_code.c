// Matrix products: loops over the outer letters, around calls of a GEMM whose
// end is the nest that the sums go to.
#include "emit/product.h"

#include "emit/gemm.h"
#include "emit/kernel.h"
#include "emit/nest_code.h"

typedef struct ProductCode {
    KernelCode *code;
    const Product *p;
    GemmSums sums;
    Nest *end; // over m and n
    LLVMValueRef at[MAX_ACCESSES];
    LLVMValueRef first, last; // i1
    LLVMValueRef m, n;        // rows and columns of a call
} ProductCode;

// The nest of one tile: loop 0 is m, loop 1 is n.
static Nest *tile_nest(const KernelCode *c, const Product *p)
{
    Nest *n = arena_new(c->g->arena, Nest, 1);
    *n = *c->kernel->nest;
    n->nroot = n->nloop = 2;
    n->size[0] = p->m.size;
    n->size[1] = p->n.size;
    n->out[0] = p->m.out;
    n->out[1] = p->n.out;
    for (int i = 0; i < n->nnode; i++) {
        Node *x = &n->node[i];
        x->stride[0] = p->m.end[i];
        x->stride[1] = p->n.end[i];
        x->loops = (uint32_t)(x->stride[0] != 0) | (uint32_t)(x->stride[1] != 0)
                                                       << 1;
        if (x->kind == NODE_product)
            x->loops = 3;
        for (int k = 0; k < x->narg; k++)
            x->loops |= n->node[x->arg[k]].loops;
    }
    return n;
}

// Columns of a row from `from` to `to`, `lanes` at a time.
static void store_columns(NestCode *c, const Tile *t, LLVMValueRef sums,
                          LLVMValueRef from, LLVMValueRef to, int lanes)
{
    Loop l;
    Gen *g = c->g;
    Scope outer = c->now;
    c->lanes = lanes;
    c->vector_loop = lanes > 1 ? 1 : -1;
    loop_begin(g, &l, from, to, gen_i64(g, lanes), 0, NULL);
    c->sums = gen_address(g, sums, gen_scale(g, l.i, 4));
    nest_code_enter(c, 1, gen_add(g, t->column, l.i));
    nest_code_store(c);
    loop_end(g, &l, NULL);
    c->vector_loop = -1;
    c->now = outer;
}

static void store_tile(Gen *g, void *context, const LLVMValueRef extra[],
                       const Tile *t)
{
    Loop row;
    NestCode c;
    const ProductCode *p = context;
    LLVMValueRef zero = gen_i64(g, 0);
    nest_code_start(&c, g, p->end, p->code->kernel->access.at[0].dtype, extra);
    nest_code_hoist(&c, p->end->nnode);
    loop_begin(g, &row, zero, t->rows, gen_i64(g, 1), 0, NULL);
    Scope outer = c.now;
    LLVMValueRef sums =
        gen_address(g, t->sums, gen_scale(g, row.i, gen_tile_pitch(g)));
    nest_code_enter(&c, 0, gen_add(g, t->row, row.i));
    nest_code_hoist(&c, p->end->nnode);
    LLVMValueRef whole =
        LLVMBuildAnd(g->b, t->columns, gen_i64(g, -(int64_t)g->lanes), "");
    store_columns(&c, t, sums, zero, whole, g->lanes);
    store_columns(&c, t, sums, whole, t->columns, 1);
    c.now = outer;
    loop_end(g, &row, NULL);
}

static void prefetch_tile(Gen *g, void *context, const LLVMValueRef extra[],
                          const Tile *t)
{
    NestCode c;
    const ProductCode *p = context;
    const Nest *end = p->end;
    nest_code_start(&c, g, end, p->code->kernel->access.at[0].dtype, extra);
    nest_code_enter(&c, 1, t->column);
    Scope outer = c.now;
    for (int i = 0; i < g->rows; i++) {
        nest_code_enter(&c, 0, gen_add(g, t->row, gen_i64(g, i)));
        gen_prefetch(g, c.now.out, true);
        for (int k = 0; k < end->nnode; k++)
            if (end->node[k].kind == NODE_load && end->node[k].stride[1] == 1)
                gen_prefetch(g, c.now.address[k], false);
        c.now = outer;
    }
}

static PackOrder order_of(int64_t width_stride, int64_t k_stride, int64_t k)
{
    return width_stride == 1        ? PACK_WIDTH
           : k_stride == 1 && k > 1 ? PACK_K
                                    : PACK_ANY;
}

// Strides in elements of an access along a letter.
static int64_t stride_along(const ProductCode *c, int access, const Letter *l)
{
    const Nest *n = c->code->kernel->nest;
    if (access == c->p->a)
        return l->a;
    if (access == c->p->b)
        return l->b;
    if (access == 0)
        return l->out;
    for (int i = 0; i < n->nnode; i++)
        if (n->node[i].kind <= NODE_index && n->node[i].access == access)
            return l->end[i];
    return 0;
}

static void advance(ProductCode *c, const Letter *l, LLVMValueRef i)
{
    Gen *g = c->code->g;
    const Kernel *k = c->code->kernel;
    for (int n = 0; n < k->access.n; n++) {
        const Access *a = &k->access.at[n];
        int64_t stride = stride_along(c, n, l);
        if (stride && a->buffer)
            c->at[n] = gen_address(
                g, c->at[n], gen_scale(g, i, stride * dtype_bytes[a->dtype]));
        else if (stride)
            c->at[n] = gen_add(g, c->at[n], gen_scale(g, i, stride));
    }
}

static void call_gemm(ProductCode *c)
{
    Gen *g = c->code->g;
    const Product *p = c->p;
    const Kernel *k = c->code->kernel;
    int nextra = k->access.n - 2;
    char extra[MAX_ACCESSES + 1] = {0};
    LLVMValueRef arg[GEMM_NPARAM + MAX_ACCESSES];
    for (int i = 0; i < nextra; i++) {
        extra[i] = k->access.at[i].buffer ? 'p' : 'i';
        arg[GEMM_NPARAM + i] = c->at[i];
    }
    GemmKind kind = {k->access.at[p->a].dtype,
                     k->access.at[p->b].dtype,
                     order_of(p->m.a, p->k.a, p->k.size),
                     order_of(p->n.b, p->k.b, p->k.size),
                     c->sums,
                     {0}};
    if (c->sums != SUMS_IN_C)
        kind.end =
            (GemmEnd){c->code->name, store_tile, prefetch_tile, c, extra};
    const int64_t number[] = {
        [GEMM_k] = p->k.size, [GEMM_a_m] = p->m.a, [GEMM_a_k] = p->k.a,
        [GEMM_b_k] = p->k.b,  [GEMM_b_n] = p->n.b, [GEMM_c_m] = p->m.out,
        [GEMM_last] = 0};
    for (int i = GEMM_m; i < GEMM_NPARAM; i++)
        arg[i] = gen_i64(g, number[i]);
    arg[GEMM_a] = c->at[p->a];
    arg[GEMM_b] = c->at[p->b];
    arg[GEMM_c] = c->at[0];
    arg[GEMM_scratch] = c->code->scratch;
    arg[GEMM_m] = c->m;
    arg[GEMM_n] = c->n;
    arg[GEMM_first] = LLVMBuildZExt(g->b, c->first, g->i64, "");
    arg[GEMM_last] = LLVMBuildZExt(g->b, c->last, g->i64, "");
    gen_call(g, gemm_function(g, &kind),
             GEMM_NPARAM + (c->sums == SUMS_IN_C ? 0 : nextra), arg);
}

static void loop_letters(ProductCode *c, int depth);

static void loop_letter(ProductCode *c, int depth)
{
    Loop l;
    Gen *g = c->code->g;
    ProductCode outer = *c;
    const Letter *letter = &c->p->outer[depth];
    loop_count(g, &l, 0, letter->size, 1);
    advance(c, letter, l.i);
    if (letter->kind == LETTER_k) {
        LLVMValueRef is_first =
            LLVMBuildICmp(g->b, LLVMIntEQ, l.i, gen_i64(g, 0), "");
        LLVMValueRef is_last = LLVMBuildICmp(g->b, LLVMIntEQ, l.i,
                                             gen_i64(g, letter->size - 1), "");
        c->first = LLVMBuildAnd(g->b, c->first, is_first, "");
        c->last = LLVMBuildAnd(g->b, c->last, is_last, "");
    }
    loop_letters(c, depth + 1);
    loop_end(g, &l, NULL);
    *c = outer;
}

static LLVMValueRef begin_block(ProductCode *c, Loop *l, const Letter *letter,
                                int64_t block)
{
    Gen *g = c->code->g;
    loop_count(g, l, 0, letter->size, block);
    advance(c, letter, l->i);
    return gen_min(g, gen_sub(g, gen_i64(g, letter->size), l->i),
                   gen_i64(g, block));
}

// Sums that wait over several calls are those of one block.
static void loop_blocks(ProductCode *c, int depth)
{
    Loop m, n;
    Gen *g = c->code->g;
    ProductCode outer = *c;
    c->m = begin_block(c, &m, &c->p->m, GEMM_WAIT_M);
    c->n = begin_block(c, &n, &c->p->n, GEMM_WAIT_N);
    loop_letter(c, depth);
    loop_end(g, &n, NULL);
    loop_end(g, &m, NULL);
    *c = outer;
}

static void loop_letters(ProductCode *c, int depth)
{
    const Product *p = c->p;
    if (depth == p->nouter)
        call_gemm(c);
    else if (depth == p->nouter - p->nouter_k && c->sums == SUMS_WAIT)
        loop_blocks(c, depth);
    else
        loop_letter(c, depth);
}

void emit_product(KernelCode *k)
{
    Gen *g = k->g;
    Product p = product_of(k->kernel);
    ProductCode c = {.code = k, .p = &p, .end = tile_nest(k, &p)};
    c.sums = product_sums(k->kernel, &p);
    c.first = c.last = LLVMConstInt(g->i1, 1, false);
    c.m = gen_i64(g, p.m.size);
    c.n = gen_i64(g, p.n.size);
    for (int i = 0; i < k->kernel->access.n; i++)
        c.at[i] = k->access[i];
    loop_letters(&c, 0);
}
