// shardc explain: how names resolved (--rules), or why a value is placed so.
#include <stdlib.h>
#include <string.h>

#include "driver/driver.h"
#include "frontend/frontend.h"

static void print_decision(const Decision *e, FILE *f)
{
    fprintf(f, "%s (%s%s%s) in %s\n", e->name ? e->name : "-", e->op,
            e->place ? " at " : "", e->place ? e->place : "", e->func);
    fprintf(f, "  chosen, price %.0f:\n%s", e->price, e->chosen);
    if (e->runner_up)
        fprintf(f, "  runner-up, price %.0f:\n%s", e->runner_price,
                e->runner_up);
    if (e->flip)
        fputs(e->flip, f);
}

// Whether the user calls it so: by its name, as an output, or as collective c7.
static bool is_called(const Func *f, const Op *op, const char *name)
{
    char id[24];
    snprintf(id, sizeof id, "c%ld", (long)op_int(op, A_id, 0));
    if (op_role(op) == ROLE_collective && strcmp(id, name) == 0)
        return true;
    for (int i = 0; i < f->result_names.n; i++)
        if (f->results.at[i] == op && strcmp(f->result_names.at[i], name) == 0)
            return true;
    return op->name && strcmp(op->name, name) == 0;
}

static bool is_same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

// How op was placed, if it had a choice.
static void print_choice(const Built *b, const Func *in, const Op *op, FILE *f)
{
    for (int i = 0; i < b->context.decisions.n; i++) {
        const Decision *e = &b->context.decisions.at[i];
        if (is_same(e->func, in->name) && is_same(e->name, op->name) &&
            is_same(e->place, op->place) &&
            is_same(e->op, op_info[op->code]->name)) {
            print_decision(e, f);
            return;
        }
    }
}

// A collective is there for those who use what it makes.
static void print_users(const Built *b, const Func *in, const Op *op, FILE *f)
{
    for (int i = op->id + 1; i < in->ops.n; i++) {
        const Op *user = in->ops.at[i];
        bool uses = false;
        for (int t = 0; t < user->noperand; t++)
            uses |= user->operand[t] == op;
        if (uses && op_role(user) == ROLE_collective)
            print_users(b, in, user, f);
        else if (uses)
            print_choice(b, in, user, f);
    }
}

static void print_value(const Built *b, const Func *in, const Op *op,
                        const char *name, FILE *f)
{
    fprintf(f, "%s in %s: ", name, in->name);
    type_print(&b->sharded->mesh, &op->type, &op->sharding, f);
    fprintf(f, "%s%s\n", op->place ? " at " : "", op->place ? op->place : "");
    if (op_str(op, A_cause))
        fprintf(f, "  %s because %s\n", op_info[op->code]->name,
                op_str(op, A_cause));
    if (op_attr(op, A_combine)) // for the one that left the sum pending, too
        print_choice(b, in, op->operand[0], f);
    if (op_role(op) == ROLE_collective)
        print_users(b, in, op, f);
    else
        print_choice(b, in, op, f);
}

static int print_values(const Built *b, const char *name, FILE *f)
{
    int n = 0;
    for (int i = 0; i < b->sharded->funcs.n; i++) {
        const Func *in = b->sharded->funcs.at[i];
        for_each_op (op, in) {
            if (!is_called(in, op, name))
                continue;
            print_value(b, in, op, name, f);
            n++;
        }
    }
    return n;
}

static int explain_rules(Driver *d)
{
    BuildOptions o;
    Program *p = program_load(&d->arena, d->o.input, &d->diag);
    if (!p || !build_options(d, p, &o))
        return EXIT_DIAGNOSTICS;
    FILE *f = open_output(d);
    if (!f)
        return EXIT_DIAGNOSTICS;
    frontend_explain_rules(&d->arena, p, &o, f, &d->diag);
    return close_output(d, f);
}

int command_explain(Driver *d)
{
    if (d->o.explain_rules)
        return explain_rules(d);
    Built b = {.context = {.explain = true}};
    if (!build_forms(d, entry_or(d, "best"), FORM_sharded, &b))
        return EXIT_DIAGNOSTICS;
    FILE *f = open_output(d);
    if (!f)
        return EXIT_DIAGNOSTICS;
    for (int i = 0; !d->o.name && i < b.context.decisions.n; i++)
        print_decision(&b.context.decisions.at[i], f);
    if (d->o.name && !print_values(&b, d->o.name, f))
        diag_error(&d->diag, (Span){0},
                   "no value or collective is called %s; --emit=sharded of "
                   "build lists them",
                   d->o.name);
    return close_output(d, f);
}
