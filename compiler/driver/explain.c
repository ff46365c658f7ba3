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

// "c7" names the collective of that id.
static bool is_collective(const Op *op, const char *name)
{
    return op_role(op) == ROLE_collective && op_attr(op, A_id) &&
           name[0] == 'c' && atol(name + 1) == op_int(op, A_id, 0);
}

static int print_values(Built *b, const char *name, FILE *f)
{
    int n = 0;
    const Module *m = b->sharded;
    for (int i = 0; i < m->funcs.n; i++) {
        for_each_op (op, m->funcs.at[i]) {
            if (!is_collective(op, name) &&
                !(op->name && strcmp(op->name, name) == 0))
                continue;
            n++;
            fprintf(f, "%s in %s: ", name, m->funcs.at[i]->name);
            type_print(&m->mesh, &op->type, &op->sharding, f);
            fprintf(f, "%s%s\n", op->place ? " at " : "",
                    op->place ? op->place : "");
            if (op_str(op, A_cause))
                fprintf(f, "  %s because %s\n", op_info[op->code]->name,
                        op_str(op, A_cause));
        }
    }
    for (int i = 0; i < b->context.decisions.n; i++) {
        const Decision *e = &b->context.decisions.at[i];
        if (e->name && strcmp(e->name, name) == 0) {
            print_decision(e, f);
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
    if (!build_forms(d, FORM_sharded, &b))
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
