// What a program may declare once: functions, lets, configs, rule sets,
// meshes, sizes, options, and the keys of one config.
#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "frontend/parser.h"

// Each starts with its name, so that one function serves all.
static_assert(offsetof(Let, name) == 0 && offsetof(Config, name) == 0 &&
                  offsetof(RulesDecl, name) == 0 &&
                  offsetof(MeshDecl, name) == 0 && offsetof(Field, name) == 0,
              "check_list reads the first member");

typedef VEC(const Name *) Declared;

static int by_name(const void *x, const void *y)
{
    const Name *a = *(const Name *const *)x;
    const Name *b = *(const Name *const *)y;
    int order = strcmp(a->s, b->s);
    if (order == 0 && a->at.source == b->at.source)
        order = a->at.start - b->at.start;
    return order;
}

static void check(const char *what, Declared names, Diag *d)
{
    if (names.n == 0)
        return;
    qsort(names.at, (size_t)names.n, sizeof *names.at, by_name);
    int nmessage = 0;
    for (int i = 1; i < names.n && nmessage < MAX_MESSAGES; i++) {
        const Name *a = names.at[i - 1], *b = names.at[i];
        if (strcmp(a->s, b->s) != 0)
            continue;
        diag_error(d, b->at, "%s `%s` is declared twice", what, b->s);
        diag_note(d, a->at, "the other one is here");
        nmessage++;
    }
}

// Names that lie `stride` bytes apart, the first of each entry of a list.
static void check_list(Arena *a, const char *what, const void *first, int n,
                       size_t stride, Diag *d)
{
    Declared names = {0};
    for (int i = 0; i < n; i++)
        vec_push(a, &names, (const Name *)((const char *)first + i * stride));
    check(what, names, d);
}

static void check_fields(Arena *a, const char *what, Fields f, Diag *d)
{
    check_list(a, what, f.at, f.n, sizeof *f.at, d);
}

void check_unique(const Program *p, Diag *d)
{
    Arena *a = p->arena;
    Declared fns = {0};
    for (int i = 0; i < p->fns.n; i++)
        vec_push(a, &fns, &p->fns.at[i]->name);
    check("function", fns, d);
    check_list(a, "let", p->lets.at, p->lets.n, sizeof *p->lets.at, d);
    check_list(a, "config", p->configs.at, p->configs.n, sizeof *p->configs.at,
               d);
    check_list(a, "rules", p->rules.at, p->rules.n, sizeof *p->rules.at, d);
    check_list(a, "mesh", p->meshes.at, p->meshes.n, sizeof *p->meshes.at, d);
    check_fields(a, "size", p->sizes, d);
    check_fields(a, "option", p->options, d);
    for (int i = 0; i < p->configs.n; i++)
        check_fields(a, "config key", p->configs.at[i].fields, d);
}
