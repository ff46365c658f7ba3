#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "emit/kernel.h"

static void print_attr(FILE *f, const Attr *a)
{
    fprintf(f, " %s=", attr_name[a->key]);
    for (int i = 0; i < a->n; i++) {
        if (attr_kind[a->key] == ATTR_INT || attr_kind[a->key] == ATTR_INTS)
            fprintf(f, "%" PRId64 ",", a->ints[i]);
        if (attr_kind[a->key] == ATTR_FLOATS)
            fprintf(f, "%a,", a->floats[i]);
    }
    if (attr_kind[a->key] == ATTR_STR)
        fprintf(f, "%s", a->str);
}

static void print_op(FILE *f, const Op *op)
{
    fprintf(f, "op %d %s", (int)op->code, dtype_name[op->type.dtype]);
    for (int i = 0; i < op->noperand; i++)
        fprintf(f, " %s", dtype_name[op->operand[i]->type.dtype]);
    for (int i = 0; i < op->attrs.n; i++)
        print_attr(f, &op->attrs.at[i]);
    fputc('\n', f);
}

static void print_view(FILE *f, const View *v)
{
    for (int i = 0; i < v->rank; i++)
        fprintf(f, " %" PRId64 "*%" PRId64, v->dim[i].size, v->dim[i].stride);
    fputc('\n', f);
}

static void print_node(FILE *f, const Nest *nest, const Node *n)
{
    fprintf(f, "node %d %s %a %d own %x:", (int)n->kind, dtype_name[n->dtype],
            n->number, n->access, n->own);
    for (int i = 0; i < n->narg; i++)
        fprintf(f, " %d", n->arg[i]);
    for (int i = 0; i < nest->nloop; i++)
        fprintf(f, " *%" PRId64, n->stride[i]);
    fputc('\n', f);
    if (n->op)
        print_op(f, n->op);
}

static void print_nest(FILE *f, const Nest *n)
{
    fprintf(f, "nest %d of", n->nroot);
    for (int i = 0; i < n->nloop; i++)
        fprintf(f, " %" PRId64, n->size[i]);
    fprintf(f, " root %d to", n->root);
    for (int i = 0; i < n->nroot; i++)
        fprintf(f, " *%" PRId64, n->out[i]);
    fputc('\n', f);
    for (int i = 0; i < n->nnode; i++)
        print_node(f, n, &n->node[i]);
}

char *kernel_text(Arena *a, const Kernel *k)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (k->nest)
        print_nest(f, k->nest);
    else
        print_op(f, k->op);
    for (int i = 0; i < k->access.n; i++) {
        const Access *x = &k->access.at[i];
        fprintf(f, "access %s %d", dtype_name[x->dtype], x->buffer != NULL);
        if (k->nest && !k->product)
            fputc('\n', f); // its nodes have the strides
        else
            print_view(f, &x->view);
    }
    fclose(f);
    char *copy = arena_strndup(a, text, size);
    free(text);
    return copy;
}
