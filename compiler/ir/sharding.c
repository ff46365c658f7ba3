#include "ir/sharding.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

const char *const combiner_name[] = {"sum", "max", "min"};

bool split_equal(const Split *a, const Split *b)
{
    return a->n == b->n &&
           memcmp(a->item, b->item, sizeof a->item[0] * (size_t)a->n) == 0;
}

bool split_has_gap(const Split *s)
{
    for (int i = 0; i < s->n; i++)
        if (s->item[i] < 0)
            return true;
    return false;
}

bool split_gaps_fit(const Mesh *m, const Split *s, int64_t size)
{
    for (int i = 0; i < s->n && split_has_gap(s); i++) {
        int64_t part =
            s->item[i] < 0 ? -(int64_t)s->item[i] : m->atom[s->item[i]].size;
        if (size % part)
            return false;
        size /= part;
    }
    return true;
}

bool split_is_distinct(const Split *s)
{
    AtomSet seen = 0;
    for (int i = 0; i < s->n; i++) {
        if (s->item[i] >= 0 && (seen >> s->item[i] & 1))
            return false;
        if (s->item[i] >= 0)
            seen |= (AtomSet)1 << s->item[i];
    }
    return true;
}

AtomSet split_atoms(const Split *s)
{
    AtomSet set = 0;
    for (int i = 0; i < s->n; i++)
        if (s->item[i] >= 0)
            set |= (AtomSet)1 << s->item[i];
    return set;
}

int64_t split_pieces(const Mesh *m, const Split *s)
{
    int64_t n = 1;
    for (int i = 0; i < s->n; i++)
        if (s->item[i] >= 0)
            n *= m->atom[s->item[i]].size;
    return n;
}

void split_push(Split *s, int32_t item)
{
    if (item == -1)
        return;
    if (item < 0 && s->n && s->item[s->n - 1] < 0) {
        int64_t gap = (int64_t)s->item[s->n - 1] * item;
        s->item[s->n - 1] = (int32_t)(gap < INT32_MAX ? -gap : -INT32_MAX);
        return;
    }
    assert(s->n < MAX_ITEMS);
    s->item[s->n++] = item;
}

void split_trim(Split *s)
{
    while (s->n && s->item[s->n - 1] < 0)
        s->n--;
}

void split_append(Split *s, const Split *more)
{
    for (int i = 0; i < more->n; i++)
        split_push(s, more->item[i]);
}

bool split_take_out(const Mesh *m, Split *s, AtomSet atoms)
{
    Split rest = {0};
    if ((split_atoms(s) & atoms) != atoms)
        return false;
    for (int i = 0; i < s->n; i++) {
        bool out = s->item[i] >= 0 && (atoms >> s->item[i] & 1);
        split_push(&rest, out ? -m->atom[s->item[i]].size : s->item[i]);
    }
    split_trim(&rest);
    *s = rest;
    return true;
}

Split split_of_axis(const Mesh *m, int axis)
{
    Split s = {0};
    for (int i = 0; i < m->axis[axis].natom; i++)
        split_push(&s, m->axis[axis].atom + i);
    return s;
}

int64_t split_local(const Mesh *m, const Split *s, int64_t size)
{
    int64_t n = split_pieces(m, s);
    return (size + n - 1) / n;
}

int64_t split_padded(const Mesh *m, const Split *s, int64_t size)
{
    return split_local(m, s, size) * split_pieces(m, s);
}

// Walks the items from the major one; a gap takes its digit from the local
// index, an atom from the device's coordinate.
int64_t split_index(const Mesh *m, const Split *s, int64_t size, int64_t device,
                    int64_t i)
{
    int64_t global = split_padded(m, s, size);
    int64_t local = split_local(m, s, size);
    int64_t at = 0;
    for (int k = 0; k < s->n; k++) {
        int32_t item = s->item[k];
        if (item < 0) {
            global /= -item;
            local /= -item;
            at += i / local * global;
            i %= local;
        } else {
            global /= m->atom[item].size;
            at += mesh_coord(m, device, item) * global;
        }
    }
    return at + i;
}

bool sharding_equal(const Sharding *a, const Sharding *b, int rank)
{
    if (a->partial != b->partial || (a->partial && a->combiner != b->combiner))
        return false;
    for (int i = 0; i < rank; i++)
        if (!split_equal(&a->dim[i], &b->dim[i]))
            return false;
    return true;
}

AtomSet sharding_split_atoms(const Sharding *s, int rank)
{
    AtomSet set = 0;
    for (int i = 0; i < rank; i++)
        set |= split_atoms(&s->dim[i]);
    return set;
}

AtomSet sharding_atoms(const Sharding *s, int rank)
{
    return sharding_split_atoms(s, rank) | s->partial;
}

bool sharding_is_whole(const Sharding *s, int rank)
{
    return sharding_atoms(s, rank) == 0;
}

Type type_local(const Mesh *m, const Type *t, const Sharding *s)
{
    Type local = *t;
    for (int i = 0; i < t->rank; i++)
        local.dim[i] = split_local(m, &s->dim[i], t->dim[i]);
    return local;
}

// The number of atoms from item k on that are consecutive atoms of one axis.
static int run_length(const Mesh *m, const int32_t item[], int n)
{
    int len = 1;
    while (len < n && item[len] == item[len - 1] + 1 &&
           m->atom[item[len]].axis == m->atom[item[0]].axis)
        len++;
    return len;
}

// One run of atoms: the axis, or as Shardy spells a sub-axis, `x:(pre)size`.
static void print_run(const Mesh *m, int first, int len, FILE *f)
{
    const Axis *axis = &m->axis[m->atom[first].axis];
    fputs(axis->name, f);
    if (len == axis->natom)
        return;
    int pre = 1, size = 1;
    for (int i = axis->atom; i < first; i++)
        pre *= m->atom[i].size;
    for (int i = first; i < first + len; i++)
        size *= m->atom[i].size;
    fprintf(f, ":(%d)%d", pre, size);
}

static void print_items(const Mesh *m, const Split *s, FILE *f)
{
    for (int k = 0; k < s->n;) {
        int len = 1;
        fputs(k ? "," : "", f);
        if (s->item[k] < 0) {
            fprintf(f, "%d", -s->item[k]);
        } else {
            len = run_length(m, s->item + k, s->n - k);
            print_run(m, s->item[k], len, f);
        }
        k += len;
    }
}

void split_print(const Mesh *m, const Split *s, FILE *f)
{
    if (!s->n)
        return;
    bool one = s->item[0] >= 0 && run_length(m, s->item, s->n) == s->n;
    fputs(one ? "" : "(", f);
    print_items(m, s, f);
    fputs(one ? "" : ")", f);
}

void atoms_print(const Mesh *m, AtomSet set, FILE *f)
{
    Split s = {0};
    for (int i = 0; i < m->natom; i++)
        if (set >> i & 1)
            split_push(&s, i);
    print_items(m, &s, f);
}

void type_print(const Mesh *m, const Type *t, const Sharding *s, FILE *f)
{
    fprintf(f, "%s[", dtype_name[t->dtype]);
    for (int i = 0; i < t->rank; i++) {
        fprintf(f, "%s%ld", i ? ", " : "", (long)t->dim[i]);
        if (s && s->dim[i].n) {
            fputc('@', f);
            split_print(m, &s->dim[i], f);
        }
    }
    fputc(']', f);
    if (s && s->partial) {
        fprintf(f, "{%s: ", combiner_name[s->combiner]);
        atoms_print(m, s->partial, f);
        fputc('}', f);
    }
}

char *type_string(Arena *a, const Mesh *m, const Type *t, const Sharding *s)
{
    char *text;
    size_t len;
    FILE *f = open_memstream(&text, &len);
    type_print(m, t, s, f);
    fclose(f);
    char *copy = arena_strndup(a, text, len);
    free(text);
    return copy;
}

char *split_string(Arena *a, const Mesh *m, const Split *s)
{
    char *text;
    size_t len;
    FILE *f = open_memstream(&text, &len);
    split_print(m, s, f);
    fclose(f);
    char *copy = arena_strndup(a, text, len);
    free(text);
    return copy;
}
