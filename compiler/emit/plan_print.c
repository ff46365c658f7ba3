// The plan as text, and its memory as a table.
#include <inttypes.h>
#include <string.h>

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

// What a buffer is for, to the reader of a report.
static const char *report_class(const Buffer *b)
{
    static const char *const names[NBUFFER_CLASS] = {
        "parameters", "optimizer", "gradients", "inputs",
        "outputs",    "saved",     "temporary", "constants"};
    bool is_passing = b->class_ == BUFFER_temporary;
    return is_passing && b->is_shared ? "collective" : names[b->class_];
}

static bool is_live(const Buffer *b, int step)
{
    return !b->alias && b->first <= step && step <= b->last;
}

// The step with the most bytes in use.
static int find_peak(const Plan *p)
{
    int64_t now = 0, most = -1;
    int peak = 0, n = p->steps.n + 2;
    int64_t *change = arena_new(p->arena, int64_t, (size_t)n + 1);
    for (int i = 0; i < p->buffers.n; i++) {
        const Buffer *b = p->buffers.at[i];
        if (b->alias || b->last < b->first || b->first < 0)
            continue;
        change[b->first] += b->bytes;
        change[b->last + 1] -= b->bytes;
    }
    for (int i = 0; i < n; i++) {
        now += change[i];
        if (now > most) {
            most = now;
            peak = i;
        }
    }
    return peak;
}

// The classes at the step with the most in use; what buffers of other sizes
// leave between them is `unused`. The sum is what a device is given.
void plan_print_memory(const Plan *p, FILE *f)
{
    static const char *const classes[] = {
        "parameters", "optimizer", "gradients",  "inputs",   "outputs",
        "saved",      "temporary", "collective", "constants"};
    int peak = find_peak(p);
    int64_t all = p->bytes[0] + p->bytes[1], used = 0;
    fprintf(f, "class\tbytes\n");
    for (size_t c = 0; c < sizeof classes / sizeof *classes; c++) {
        int64_t bytes = 0;
        for (int i = 0; i < p->buffers.n; i++)
            if (is_live(p->buffers.at[i], peak) &&
                strcmp(report_class(p->buffers.at[i]), classes[c]) == 0)
                bytes += p->buffers.at[i]->bytes;
        fprintf(f, "%s\t%" PRId64 "\n", classes[c], bytes);
        used += bytes;
    }
    fprintf(f, "unused\t%" PRId64 "\n", all - used);
    fprintf(f, "peak\t%" PRId64 "\n", all);
}
