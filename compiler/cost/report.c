#include "cost/report.h"

#include <math.h>
#include <string.h>

#include "base/text.h"

int64_t func_count(const Module *m, const Func *f)
{
    if (f == module_entry(m))
        return 1;
    int64_t n = 0;
    for (int i = 0; i < m->funcs.n; i++)
        for_each_op (op, m->funcs.at[i])
            if (op_role(op) == ROLE_loop &&
                module_find(m, op_str(op, A_body)) == f)
                n += op_int(op, A_trip, 0) * func_count(m, m->funcs.at[i]);
    return n;
}

bool is_communication(const Op *op)
{
    return op_info[op->code]->wire != NULL;
}

static bool grows(const Op *op)
{
    return op_attr(op, A_concat_dim) && !op_attr(op, A_split_dim);
}

int64_t collective_bytes(const Op *op)
{
    return type_bytes(grows(op) ? &op->type : &op->operand[0]->type);
}

static const Split *group_of(const Op *op)
{
    return op_attr(op, op_attr(op, A_from) ? A_from : A_axes)->split;
}

int64_t collective_wire(const Mesh *m, const Op *op)
{
    double n = (double)split_pieces(m, group_of(op));
    double bytes = (double)type_bytes(&op->operand[0]->type);
    return llround(op_info[op->code]->wire(bytes, n));
}

static void print_axes(const Mesh *m, const Op *op, FILE *f)
{
    AtomSet set = split_atoms(group_of(op));
    const char *comma = "";
    for (int i = 0; i < m->naxis; i++) {
        AtomSet axis = 0;
        for (int k = 0; k < m->axis[i].natom; k++)
            axis |= (AtomSet)1 << (m->axis[i].atom + k);
        if (!(set & axis))
            continue;
        fputs(comma, f);
        if ((set & axis) == axis)
            fputs(m->axis[i].name, f);
        else
            atoms_print(m, set & axis, f);
        comma = ",";
    }
}

static void print_dims(const Op *op, FILE *f)
{
    const Attr *from = op_attr(op, A_concat_dim);
    const Attr *to = op_attr(op, A_split_dim);
    if (from)
        fprintf(f, "%ld", (long)from->ints[0]);
    if (to)
        fprintf(f, "%s%ld", from ? "," : "", (long)to->ints[0]);
}

static const char *or_empty(const char *s)
{
    return s ? s : "";
}

void report_collectives(const Module *local, FILE *f)
{
    const Mesh *m = &local->mesh;
    fputs("id\tkind\taxes\tdims\tdtype\tbytes\tcount\twire\tin\top\tplace\t"
          "cause\n",
          f);
    for (int i = 0; i < local->funcs.n; i++) {
        const Func *fn = local->funcs.at[i];
        int64_t count = func_count(local, fn);
        for_each_op (op, fn) {
            if (!is_communication(op))
                continue;
            fprintf(f, "c%ld\t%s\t", (long)op_int(op, A_id, 0),
                    op_info[op->code]->name);
            print_axes(m, op, f);
            fputc('\t', f);
            print_dims(op, f);
            fprintf(f, "\t%s\t%ld\t%ld\t%ld\t%s\t%s\t%s\t%s\n",
                    dtype_name[op->type.dtype], (long)collective_bytes(op),
                    (long)count, (long)(collective_wire(m, op) * count),
                    fn->name, or_empty(op_str(op, A_op)), or_empty(op->place),
                    or_empty(op_str(op, A_cause)));
        }
    }
}

enum {
    MAX_GROUPS = 64,
};

typedef struct Group { // collectives of one kind over the same axes
    const Op *op;
    int64_t count, bytes, wire;
} Group;

static void add_to_group(const Module *m, const Op *op, int64_t count,
                         Group group[], int *n)
{
    int i = 0;
    while (i < *n &&
           (group[i].op->code != op->code ||
            split_atoms(group_of(group[i].op)) != split_atoms(group_of(op))))
        i++;
    if (i == MAX_GROUPS)
        return;
    if (i == *n)
        group[(*n)++] = (Group){.op = op};
    group[i].count += count;
    group[i].bytes += count * collective_bytes(op);
    group[i].wire += count * collective_wire(&m->mesh, op);
}

void report_summary(const Module *local, FILE *f)
{
    Group group[MAX_GROUPS];
    int n = 0;
    for (int i = 0; i < local->funcs.n; i++)
        for_each_op (op, local->funcs.at[i])
            if (is_communication(op))
                add_to_group(local, op, func_count(local, local->funcs.at[i]),
                             group, &n);
    fputs(n ? "collectives of a step, per device\n" : "collectives  none\n", f);
    for (int i = 0; i < n; i++) {
        fprintf(f, "  %-18s", op_info[group[i].op->code]->name);
        char each[BYTES_TEXT], wire[BYTES_TEXT];
        double bytes = (double)group[i].bytes / (double)group[i].count;
        fprintf(f, " %6ld x %10s, wire %10s, over ", (long)group[i].count,
                bytes_text(each, bytes),
                bytes_text(wire, (double)group[i].wire));
        print_axes(&local->mesh, group[i].op, f);
        fputc('\n', f);
    }
}
