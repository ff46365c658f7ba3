#include "pass/pass.h"

#include <string.h>
#include <time.h>

static const Pass passes[] = {
#define PASS(name, summary) {#name, summary, pass_##name},
#include "pass/passes.def"
};

static const Pass *pass_find(const char *name, size_t len)
{
    for (size_t i = 0; i < sizeof passes / sizeof passes[0]; i++)
        if (strlen(passes[i].name) == len &&
            memcmp(passes[i].name, name, len) == 0)
            return &passes[i];
    return NULL;
}

bool passes_are_known(const char *list)
{
    for (size_t len; *list; list += len + (list[len] == ',')) {
        len = strcspn(list, ",");
        if (!pass_find(list, len))
            return false;
    }
    return true;
}

// The text form must carry everything: print, parse, print, compare.
static Module *round_trip(PassContext *c, const Module *m)
{
    Source *source = arena_new(c->arena, Source, 1); // the ops point into it
    *source = (Source){"<round trip>", module_string(c->arena, m)};
    Module *read = module_parse(c->arena, source, c->diag);
    if (!read || strcmp(source->text, module_string(c->arena, read)) != 0) {
        diag_error(c->diag, (Span){0},
                   "the module does not survive print and parse");
        return NULL;
    }
    return read;
}

static Module *run_one(PassContext *c, Module *m, const Pass *pass,
                       const PassOptions *opt)
{
    clock_t start = clock();
    m = pass->run(c, m);
    if (opt->time)
        fprintf(stderr, "%-10s %8.3f ms\n", pass->name,
                1e3 * (double)(clock() - start) / CLOCKS_PER_SEC);
    if (!m)
        return NULL;
    if (!module_verify(m, c->diag)) {
        diag_note(c->diag, (Span){0}, "after pass %s", pass->name);
        return NULL;
    }
    if (opt->print_after && (strcmp(opt->print_after, "all") == 0 ||
                             strcmp(opt->print_after, pass->name) == 0)) {
        fprintf(stderr, "// after %s\n", pass->name);
        module_print(m, stderr);
    }
    return opt->round_trip ? round_trip(c, m) : m;
}

Module *pass_run(PassContext *c, Module *m, const char *list,
                 const PassOptions *opt)
{
    if (!module_verify(m, c->diag))
        return NULL;
    if (opt->round_trip)
        m = round_trip(c, m);
    while (m && *list) {
        size_t len = strcspn(list, ",");
        const Pass *pass = pass_find(list, len);
        if (!pass) {
            diag_error(c->diag, (Span){0}, "no pass is called %.*s", (int)len,
                       list);
            return NULL;
        }
        m = run_one(c, m, pass, opt);
        list += len + (list[len] == ',');
    }
    return m;
}
