// What each kernel computes and where it leaves it: how a run finds the first
// operation that makes a NaN.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit/blob.h"
#include "ir/op.h"

static void print_op(const Op *op, FILE *f)
{
    fputs(op_info[op->code]->name, f);
    if (op->name)
        fprintf(f, " %%%s", op->name);
    if (op->place)
        fprintf(f, " at %s", op->place);
}

static bool is_same(const Op *a, const Op *b)
{
    return a == b || (a->code == b->code && a->place && b->place && !a->name &&
                      !b->name && strcmp(a->place, b->place) == 0);
}

// The ops of a nest in the order of their computation; each source line once.
static void print_nest(const Nest *nest, FILE *f)
{
    const Op *before[MAX_NODES];
    int n = 0;
    for (int i = 0; i < nest->nnode; i++) {
        const Op *op = nest->node[i].op;
        bool is_known = op == NULL;
        for (int k = 0; k < n && !is_known; k++)
            is_known = is_same(op, before[k]);
        if (is_known)
            continue;
        if (n)
            fputs(", then ", f);
        print_op(op, f);
        before[n++] = op;
    }
}

static int64_t write_text(Blob *b, const Kernel *k)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    if (k->nest && k->nest->node[k->nest->root].op)
        print_nest(k->nest, f);
    else
        print_op(k->op, f);
    fclose(f);
    int64_t at = blob_append(b, text, size + 1);
    free(text);
    return at;
}

static void set_probe(Blob *b, RtProbe *t, const Kernel *k)
{
    const Access *to = &k->access.at[0];
    const View *v = &to->view;
    int64_t bytes = dtype_bytes[to->dtype], dim[2 * MAX_LOOPS], step = 0;
    t->what = write_text(b, k);
    t->dtype = (int32_t)to->dtype;
    t->rank = v->rank;
    for (int i = 0; i < v->rank; i++) {
        dim[2 * i] = v->dim[i].size;
        dim[2 * i + 1] = v->dim[i].stride;
    }
    t->dims = blob_append(b, dim, sizeof dim[0] * 2 * (size_t)v->rank);
    for (int i = v->rank; i < v->n; i++) {
        if (v->dim[i].kind == INDEX_PIECE)
            t->rank = -1;
        step += v->dim[i].stride * bytes;
    }
    t->result = (RtPlace){.is_shared = to->buffer->is_shared,
                          .at = to->buffer->at + v->at * bytes,
                          .step = to->buffer->step + step};
}

int64_t probes_write(Blob *b, const Plan *p)
{
    int n = p->kernels.n;
    RtProbe *t = arena_new(b->arena, RtProbe, (size_t)n + 1);
    for (int i = 0; i < n; i++)
        set_probe(b, &t[i], p->kernels.at[i]);
    return blob_append(b, t, sizeof *t * (size_t)n);
}
