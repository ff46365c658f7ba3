// A mesh from the command line: the name of a `mesh` declaration, or
// "fsdp=2,tensor=2".
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/frontend.h"

enum {
    MAX_DEVICES = 1 << 20,
    MAX_LISTED = 20, // meshes in a message
};

// `size` < 0: it was no whole number.
static void add_axis(Mesh *m, const char *name, double size, Span at, Diag *d)
{
    if (mesh_find(m, name) >= 0)
        diag_error(d, at, "the mesh has two axes `%s`", name);
    else if (m->naxis == MAX_AXES)
        diag_error(d, at, "a mesh has at most %d axes", MAX_AXES);
    else if (size < 1)
        diag_error(d, at, "the size of axis `%s` is not a whole number >= 1",
                   name);
    else if (size > (double)(MAX_DEVICES / (m->naxis ? m->ndevice : 1)))
        diag_error(d, at, "the mesh has more than %d devices", MAX_DEVICES);
    else
        mesh_add_axis(m, name, (int)size);
}

static bool declared_mesh(const MeshDecl *decl, Mesh *m, Diag *d)
{
    int before = d->nerror;
    for (int i = 0; i < decl->axes.n; i++) {
        const Field *f = &decl->axes.at[i];
        bool whole = f->value->kind == EXPR_NUMBER && f->value->is_int;
        add_axis(m, f->name.s, whole ? f->value->number : -1, f->value->at, d);
    }
    if (decl->axes.n == 0)
        diag_error(d, decl->name.at, "the mesh has no axes");
    return d->nerror == before;
}

static bool is_name(const char *s, int n)
{
    for (int i = 0; i < n; i++)
        if (!isalnum((unsigned char)s[i]) && s[i] != '_')
            return false;
    return n > 0 && !isdigit((unsigned char)s[0]);
}

// One `name=size` of the text, from `start` to `end`.
static void parse_axis(Arena *a, const Source *src, int start, int end, Mesh *m,
                       Diag *d)
{
    Span at = {src, start, end};
    const char *s = src->text + start;
    int length = end - start;
    const char *eq = memchr(s, '=', (size_t)length);
    int n = eq ? (int)(eq - s) : 0;
    if (!eq || !is_name(s, n)) {
        diag_error(d, at, "a mesh is a name or a list such as fsdp=2,tensor=2");
        return;
    }
    const char *digits = eq + 1;
    int ndigit = length - n - 1;
    double size = ndigit ? 0 : -1;
    for (int i = 0; i < ndigit && size >= 0; i++)
        size = isdigit((unsigned char)digits[i]) ? size * 10 + digits[i] - '0'
                                                 : -1;
    add_axis(m, arena_strndup(a, s, (size_t)n), size, at, d);
}

static bool parse_list(Arena *a, const char *text, Mesh *m, Diag *d)
{
    int before = d->nerror;
    Source *src = arena_new(a, Source, 1);
    *src = (Source){"mesh", arena_strndup(a, text, strlen(text))};
    for (int start = 0;;) {
        int end = start + (int)strcspn(text + start, ",");
        parse_axis(a, src, start, end, m, d);
        if (!text[end])
            return d->nerror == before;
        start = end + 1;
    }
}

static const char *known_meshes(Arena *a, const Program *p)
{
    const char *list = "none";
    for (int i = 0; i < p->meshes.n && i < MAX_LISTED; i++)
        list = arena_printf(a, "%s%s%s", i ? list : "", i ? ", " : "",
                            p->meshes.at[i].name.s);
    return list;
}

bool mesh_from_text(Arena *a, const Program *p, const char *text, Mesh *out,
                    Diag *d)
{
    *out = (Mesh){0};
    if (strchr(text, '=') || !is_name(text, (int)strlen(text)))
        return parse_list(a, text, out, d);
    for (int i = 0; i < p->meshes.n; i++)
        if (strcmp(p->meshes.at[i].name.s, text) == 0)
            return declared_mesh(&p->meshes.at[i], out, d);
    diag_error(d, (Span){0}, "no mesh is called `%s`; there are: %s", text,
               known_meshes(a, p));
    return false;
}
