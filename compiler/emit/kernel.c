#include "emit/kernel.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "emit/nest_code.h"

// Ops with code of their own.
static void (*const kernel_emitter[NOP])(KernelCode *c) = {
    [OP_cumsum] = emit_cumsum,
    [OP_gather] = emit_gather,
    [OP_scatter_add] = emit_scatter,
    [OP_attention] = emit_attention,
    [OP_route] = emit_route,
};

int64_t access_stride(const KernelCode *c, int access, int dim)
{
    return c->kernel->access.at[access].view.dim[dim].stride;
}

LLVMValueRef access_along(const KernelCode *c, int access, LLVMValueRef p,
                          int dim, LLVMValueRef i)
{
    int bytes = dtype_bytes[c->kernel->access.at[access].dtype];
    int64_t stride = access_stride(c, access, dim) * bytes;
    return stride ? gen_address(c->g, p, gen_scale(c->g, i, stride)) : p;
}

static void emit_nest(KernelCode *c)
{
    NestCode code;
    nest_code_start(&code, c->g, c->kernel->nest, c->kernel->access.at[0].dtype,
                    c->access);
    nest_code_run(&code);
}

static void write_body(Gen *g, const Kernel *k, const char *name,
                       LLVMValueRef f)
{
    KernelCode c = {.g = g, .kernel = k, .name = name};
    for (int i = 0; i < k->access.n; i++)
        c.access[i] = LLVMGetParam(f, (unsigned)i);
    c.scratch = LLVMGetParam(f, (unsigned)k->access.n);
    if (k->product)
        emit_product(&c);
    else if (k->nest)
        emit_nest(&c);
    else
        kernel_emitter[k->op->code](&c);
    gen_return(g);
}

static LLVMValueRef find_body(Gen *g, Bodies *bodies, const Kernel *k)
{
    char *text = kernel_text(g->arena, k);
    char params[MAX_ACCESSES + 2] = {0};
    for (int i = 0; i < bodies->at.n; i++)
        if (strcmp(bodies->at.at[i].text, text) == 0)
            return bodies->at.at[i].function;
    for (int i = 0; i < k->access.n; i++)
        params[i] = k->access.at[i].buffer ? 'p' : 'i';
    params[k->access.n] = 'p';
    LLVMValueRef f;
    const char *name = arena_printf(g->arena, "body%d", bodies->at.n);
    vec_push(g->arena, &bodies->at, ((Body){text, NULL}));
    int at = bodies->at.n - 1;
    gen_function(g, name, params, &f);
    bodies->at.at[at].function = f;
    write_body(g, k, name, f);
    return f;
}

// --- addresses ---------------------------------------------------------------

typedef struct Call {
    const Gen *g;
    const Mesh *mesh;
    LLVMValueRef own, shared, device, turn;
} Call;

// The number of the device's piece: its coordinates read as one number, the
// major one first.
static LLVMValueRef piece_of(const Call *c, const Split *split)
{
    const Gen *g = c->g;
    LLVMValueRef piece = gen_i64(g, 0);
    for (int i = 0; i < split->n; i++) {
        const Atom *atom = &c->mesh->atom[split->item[i]];
        LLVMValueRef x =
            LLVMBuildUDiv(g->b, c->device, gen_i64(g, atom->stride), "");
        x = LLVMBuildURem(g->b, x, gen_i64(g, atom->size), "");
        piece = gen_add(g, gen_scale(g, piece, atom->size), x);
    }
    return piece;
}

// Where an access starts: an address, or the index itself.
static LLVMValueRef start_of(const Call *c, const Access *a)
{
    const Gen *g = c->g;
    int64_t unit = a->buffer ? dtype_bytes[a->dtype] : 1;
    int64_t at = a->view.at * unit + (a->buffer ? a->buffer->at : 0);
    LLVMValueRef x = gen_i64(g, at);
    if (a->buffer && a->buffer->step)
        x = gen_add(g, x, gen_scale(g, c->turn, a->buffer->step));
    for (int i = a->view.rank; i < a->view.n; i++) {
        const ViewDim *d = &a->view.dim[i];
        LLVMValueRef index =
            d->kind == INDEX_TURN ? c->turn : piece_of(c, d->split);
        x = gen_add(g, x, gen_scale(g, index, d->stride * unit));
    }
    if (!a->buffer)
        return x;
    return gen_address(g, a->buffer->is_shared ? c->shared : c->own, x);
}

LLVMValueRef kernel_function(Gen *g, Bodies *bodies, const Plan *p, int n)
{
    char name[32];
    LLVMValueRef f, arg[MAX_ACCESSES + 1];
    const Kernel *k = p->kernels.at[n];
    LLVMValueRef body = find_body(g, bodies, k);
    snprintf(name, sizeof name, "k%d", n);
    gen_function(g, name, "ppii", &f);
    Call c = {g,
              &p->module->mesh,
              LLVMGetParam(f, 0),
              LLVMGetParam(f, 1),
              LLVMGetParam(f, 2),
              LLVMGetParam(f, 3)};
    for (int i = 0; i < k->access.n; i++)
        arg[i] = start_of(&c, &k->access.at[i]);
    arg[k->access.n] = gen_offset(g, c.own, k->scratch ? k->scratch->at : 0);
    gen_call(g, body, k->access.n + 1, arg);
    gen_return(g);
    return f;
}
