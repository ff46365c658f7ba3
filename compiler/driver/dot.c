#include "driver/dot.h"

static void print_node(const Func *fn, int func, const Op *op, FILE *f)
{
    const char *colour = op_role(op) == ROLE_collective ? "orange"
                         : op_role(op) == ROLE_argument ? "lightblue"
                                                        : "white";
    fprintf(f, "    f%d_%d [label=\"%s%s%s\\n", func, op->id,
            op->name ? op->name : "", op->name ? " = " : "",
            op_info[op->code]->name);
    type_print(&fn->module->mesh, &op->type,
               fn->module->form == FORM_sharded ? &op->sharding : NULL, f);
    fprintf(f, "\", style=filled, fillcolor=%s];\n", colour);
    for (int i = 0; i < op->noperand; i++)
        fprintf(f, "    f%d_%d -> f%d_%d;\n", func, op->operand[i]->id, func,
                op->id);
}

void module_print_dot(const Module *m, FILE *f)
{
    fputs("digraph module {\n  node [shape=box, fontname=monospace];\n", f);
    for (int i = 0; i < m->funcs.n; i++) {
        const Func *fn = m->funcs.at[i];
        fprintf(f, "  subgraph cluster_%d {\n    label=\"@%s\";\n", i,
                fn->name);
        for_each_op (op, fn)
            print_node(fn, i, op, f);
        fputs("  }\n", f);
    }
    fputs("}\n", f);
}
