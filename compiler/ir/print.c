// Prints a module as the text that ir/parse.y reads back.
#include <math.h>
#include <stdlib.h>

#include "ir/graph.h"
#include "ir/op.h"

static void print_value(const Op *op, FILE *f)
{
    if (op->name)
        fprintf(f, "%%%s", op->name);
    else
        fprintf(f, "%%%d", op->id);
}

static void print_string(const char *s, FILE *f)
{
    fputc('"', f);
    for (; *s; s++) {
        if (*s == '"' || *s == '\\')
            fputc('\\', f);
        fputc(*s, f);
    }
    fputc('"', f);
}

// Short where that is exact; infinities and NaN by name, a negative zero as no
// integer.
static void print_float(double x, FILE *f)
{
    if (x == 0 && signbit(x)) {
        fputs("-0.0", f);
        return;
    }
    if (isnan(x) || isinf(x)) {
        fputs(isnan(x) ? "nan" : x < 0 ? "-inf" : "inf", f);
        return;
    }
    char s[32];
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(s, sizeof s, "%.*g", digits, x);
        if (strtod(s, NULL) == x)
            break;
    }
    fputs(s, f);
}

static void print_attr(const Mesh *m, const Attr *a, FILE *f)
{
    AttrKind kind = attr_kind[a->key];
    bool is_list = kind == ATTR_INTS || (kind == ATTR_FLOATS && a->n != 1);
    fprintf(f, "%s=%s", attr_name[a->key], is_list ? "[" : "");
    if (kind == ATTR_STR)
        print_string(a->str, f);
    if (kind == ATTR_SPLIT)
        fputs(a->split->n ? "" : "()", f), split_print(m, a->split, f);
    for (int i = 0; i < a->n && (kind == ATTR_INT || kind == ATTR_INTS); i++)
        fprintf(f, "%s%ld", i ? ", " : "", (long)a->ints[i]);
    for (int i = 0; i < a->n && kind == ATTR_FLOATS; i++) {
        fputs(i ? ", " : "", f);
        print_float(a->floats[i], f);
    }
    fputs(is_list ? "]" : "", f);
}

static void print_attrs(const Mesh *m, const Op *op, FILE *f)
{
    for (int i = 0; i < op->attrs.n; i++) {
        fputs(i ? ", " : " {", f);
        print_attr(m, &op->attrs.at[i], f);
    }
    fputs(op->attrs.n ? "}" : "", f);
}

static void print_type(const Func *fn, const Op *op, FILE *f)
{
    bool placed = fn->module->form == FORM_sharded ||
                  (fn->module->form == FORM_global &&
                   (op->code == OP_param || op->code == OP_shard));
    type_print(&fn->module->mesh, &op->type, placed ? &op->sharding : NULL, f);
}

static void print_place(const Op *op, FILE *f)
{
    if (op->place) {
        fputs(" at ", f);
        print_string(op->place, f);
    }
}

static void print_param(const Func *fn, const Op *op, FILE *f)
{
    print_value(op, f);
    fputs(": ", f);
    print_type(fn, op, f);
    print_attrs(&fn->module->mesh, op, f);
    print_place(op, f);
}

static void print_op(const Func *fn, const Op *op, FILE *f)
{
    fputs("    ", f);
    print_value(op, f);
    fprintf(f, " = %s", op_info[op->code]->name);
    for (int i = 0; i < op->noperand; i++) {
        fputs(i ? ", " : " ", f);
        print_value(op->operand[i], f);
    }
    print_attrs(&fn->module->mesh, op, f);
    fputs(" : ", f);
    print_type(fn, op, f);
    print_place(op, f);
    fputc('\n', f);
}

static void print_return(const Func *fn, FILE *f)
{
    fputs("    return", f);
    for (int i = 0; i < fn->results.n; i++) {
        fputs(i ? ", " : " ", f);
        if (i < fn->result_names.n)
            fprintf(f, "%s=", fn->result_names.at[i]);
        print_value(fn->results.at[i], f);
    }
    fputs("\n}\n", f);
}

static void print_func(const Func *fn, FILE *f)
{
    fprintf(f, "\nfunc @%s(", fn->name);
    for (int i = 0; i < fn->nparam; i++) {
        fputs(i ? ",\n    " : "", f);
        print_param(fn, fn->ops.at[i], f);
    }
    fputs(") {\n", f);
    for (int i = fn->nparam; i < fn->ops.n; i++)
        print_op(fn, fn->ops.at[i], f);
    print_return(fn, f);
}

void module_print(const Module *m, FILE *f)
{
    fputs("mesh", f);
    for (int i = 0; i < m->mesh.naxis; i++)
        fprintf(f, " %s=%d", m->mesh.axis[i].name, m->mesh.axis[i].size);
    fprintf(f, "\nform %s\n", form_name[m->form]);
    for (int i = 0; i < m->funcs.n; i++)
        print_func(m->funcs.at[i], f);
}

char *module_string(Arena *a, const Module *m)
{
    char *text;
    size_t len;
    FILE *f = open_memstream(&text, &len);
    module_print(m, f);
    fclose(f);
    char *copy = arena_strndup(a, text, len);
    free(text);
    return copy;
}
