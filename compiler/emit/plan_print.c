// The plan as text, and its memory as a table.
#include <inttypes.h>

#include "emit/plan.h"
#include "ir/op.h"

static const char *const class_name[NBUFFER_CLASS] = {
    "param", "state",     "gradient", "input",
    "output", "saved", "temporary", "constant"};

static void print_place(const Buffer *b, FILE *f)
{
    fprintf(f, "%s+%" PRId64, b->is_shared ? "shared" : "own", b->at);
}

static void print_accesses(const Kernel *k, FILE *f)
{
    for (int i = 0; i < k->access.n; i++) {
        const Buffer *b = k->access.at[i].buffer;
        if (b)
            fprintf(f, "%s %s", i == 1 ? " <-" : i ? "," : "", b->name);
    }
}

static void print_step(const Plan *p, const Step *s, int depth, FILE *f)
{
    fprintf(f, "%*s", 2 + 2 * depth, "");
    if (s->kind == RT_LOOP) {
        fprintf(f, "loop %" PRId64 " times\n", s->trip);
        return;
    }
    if (s->kind == RT_COLLECTIVE) {
        const Transfer *x = p->transfers.at[s->index];
        fprintf(f, "c%" PRId64 " %s %s <- %s\n", op_int(x->op, A_id, 0),
                op_info[x->op->code]->name, x->result->name, x->source->name);
        return;
    }
    const Kernel *k = p->kernels.at[s->index];
    fprintf(f, "k%d", s->index);
    print_accesses(k, f);
    if (k->product)
        fprintf(f, "  einsum %s", op_str(k->product, A_spec));
    if (k->nest && k->nest->nnode > 1)
        fprintf(f, "  %d ops", k->nest->nnode);
    if (k->scratch)
        fprintf(f, "  scratch %" PRId64, k->scratch_bytes);
    fputc('\n', f);
}

void plan_print(const Plan *p, FILE *f)
{
    int end[16] = {0}, depth = 0;
    fprintf(f, "steps\n");
    for (int i = 0; i < p->steps.n; i++) {
        const Step *s = &p->steps.at[i];
        while (depth && i >= end[depth])
            depth--;
        print_step(p, s, depth, f);
        if (s->kind == RT_LOOP)
            end[++depth] = i + 1 + s->index;
    }
    fprintf(f, "buffers\n");
    for (int i = 0; i < p->buffers.n; i++) {
        const Buffer *b = p->buffers.at[i];
        fprintf(f, "  %-28s %-9s ", b->name, class_name[b->class_]);
        print_place(b, f);
        fprintf(f, " %" PRId64 " bytes", b->bytes);
        if (b->alias)
            fprintf(f, " in place of %s", b->alias->name);
        else if (!b->is_kept)
            fprintf(f, " steps %d to %d", b->first, b->last);
        fputc('\n', f);
    }
    fprintf(f, "own %" PRId64 " bytes, shared %" PRId64 " bytes\n", p->bytes[0],
            p->bytes[1]);
}

// The most bytes of temporaries of one segment that are in use at once.
static int64_t peak_of(const Plan *p, bool is_shared)
{
    int64_t kept = 0;
    for (int i = 0; i < p->buffers.n; i++) {
        const Buffer *b = p->buffers.at[i];
        if (!b->alias && b->is_kept && b->is_shared == is_shared)
            kept += b->bytes;
    }
    return p->bytes[is_shared] - kept;
}

void plan_print_memory(const Plan *p, FILE *f)
{
    int64_t bytes[NBUFFER_CLASS] = {0};
    for (int i = 0; i < p->buffers.n; i++)
        if (!p->buffers.at[i]->alias)
            bytes[p->buffers.at[i]->class_] += p->buffers.at[i]->bytes;
    fprintf(f, "class\tbytes\n");
    fprintf(f, "parameters\t%" PRId64 "\n", bytes[BUFFER_param]);
    fprintf(f, "inputs\t%" PRId64 "\n", bytes[BUFFER_input]);
    fprintf(f, "outputs\t%" PRId64 "\n", bytes[BUFFER_output]);
    fprintf(f, "temporary\t%" PRId64 "\n", peak_of(p, false));
    fprintf(f, "collective\t%" PRId64 "\n", peak_of(p, true));
    fprintf(f, "constants\t%" PRId64 "\n", bytes[BUFFER_constant]);
    fprintf(f, "peak\t%" PRId64 "\n", p->bytes[0] + p->bytes[1]);
}
