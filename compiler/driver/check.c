// shardc check: errors and warnings, and a report that fits a screen.
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cost/report.h"
#include "driver/code.h"

typedef struct Weights {
    int tensors;
    int64_t count, bytes;             // of the whole model
    int64_t local_count, local_bytes; // of one device
} Weights;

static Weights count_weights(const Module *sharded)
{
    Weights w = {0};
    const Func *f = module_entry(sharded);
    for (int i = 0; i < f->nparam; i++) {
        const Op *p = f->ops.at[i];
        const char *class = op_str(p, A_class);
        if (!class || strcmp(class, "param") != 0)
            continue;
        Type local = type_local(&sharded->mesh, &p->type, &p->sharding);
        w.tensors++;
        w.count += type_count(&p->type);
        w.bytes += type_bytes(&p->type);
        w.local_count += type_count(&local);
        w.local_bytes += type_bytes(&local);
    }
    return w;
}

static void print_mesh(const Mesh *m, FILE *f)
{
    for (int i = 0; i < m->naxis; i++)
        fprintf(f, "%s=%d ", m->axis[i].name, m->axis[i].size);
    fprintf(f, "%s%ld device%s\n", m->naxis ? "- " : "", (long)m->ndevice,
            m->ndevice == 1 ? "" : "s");
}

static void print_memory(const Plan *plan, FILE *f)
{
    char *text;
    size_t len;
    FILE *memory = open_memstream(&text, &len);
    plan_print_memory(plan, memory);
    fclose(memory);
    char *save = NULL;
    for (char *line = strtok_r(text, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save)) {
        char bytes[BYTES_TEXT];
        char *tab = strchr(line, '\t');
        if (tab && strcmp(tab + 1, "bytes") != 0)
            fprintf(f, "  %-12.*s %16s\n", (int)(tab - line), line,
                    bytes_text(bytes, atof(tab + 1)));
    }
    free(text);
}

static void print_report(Driver *d, const Built *b, FILE *f)
{
    Arena *a = &d->arena;
    char bytes[BYTES_TEXT];
    Weights w = count_weights(b->sharded);
    fprintf(f, "model        %s%s%s, rules %s\n", d->o.input,
            d->o.config ? ", config " : "", d->o.config ? d->o.config : "",
            d->o.rules);
    fputs("mesh         ", f);
    print_mesh(&b->local->mesh, f);
    fprintf(f, "parameters   %s in %d tensors, %s\n", count_string(a, w.count),
            w.tensors, bytes_text(bytes, (double)w.bytes));
    fprintf(f, "  per device %s, %s (%.0f %% of the whole)\n",
            count_string(a, w.local_count),
            bytes_text(bytes, (double)w.local_bytes),
            w.bytes ? 100.0 * (double)w.local_bytes / (double)w.bytes : 0);
    fputs("memory per device\n", f);
    print_memory(build_plan(d, b), f);
    report_summary(b->local, f);
}

int command_check(Driver *d)
{
    Built b = {0};
    if (!build_forms(d, entry_or(d, "best"), FORM_local, &b))
        return EXIT_DIAGNOSTICS;
    print_report(d, &b, stdout);
    return close_output(d, stdout);
}
