// Messages about syntax: "unexpected X, expected Y or Z".
//
// Bison knows every token that could stand at a place; a reader wants the
// class they make up, so that `an expression` replaces nine tokens.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "frontend/parser.h"

enum {
    MAX_EXPECTED = 4, // classes and tokens worth listing
    MAX_MEMBERS = 24,
};

// A class is known by a token that only it has.
static const struct {
    const char *sign;
    const char *name;
    const char *member[MAX_MEMBERS];
} classes[] = {
    {"let",
     "a declaration",
     {"model", "include", "sizes", "options", "let", "fn", "config", "rules",
      "mesh", "train", "end of line", "end of file"}},
    {"shard",
     "a statement",
     {"param", "shard", "if", "repeat", "return", "input", "state", "backward",
      "a name", "model", "include", "sizes", "options", "config", "rules",
      "mesh", "train", "end of line"}},
    {"a number",
     "an expression",
     {"a number", "a name", "a reducer", "if", "P", "'('", "'-'", "'!'",
      "model", "include", "sizes", "options", "config", "rules", "mesh",
      "train"}},
    {"'*'",
     "an operator",
     {"||", "&&", "==", "!=", "'<'", "'>'", "<=", ">=", "++", "'+'", "'-'",
      "'*'", "'/'", "**", "'('", "'['", "'.'", "end of line"}},
    {"a name",
     "a name",
     {"a name", "model", "include", "sizes", "options", "config", "rules",
      "mesh", "train"}},
    {"a rule", "a rule", {"a rule", "end of line"}},
};

void syntax_error(ModelParser *p, Span at, const char *fmt, ...)
{
    if (p->nmessage == MAX_MESSAGES)
        return;
    va_list ap;
    va_start(ap, fmt);
    char text[400];
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    diag_error(p->diag, at, "%s", text);
    if (++p->nmessage < MAX_MESSAGES)
        return;
    diag_note(p->diag, at, "too many errors; the rest of the file is not read");
    p->stop = true;
}

void too_deep(ModelParser *p, Span at)
{
    if (!p->too_deep)
        syntax_error(p, at, "nested too deeply");
    p->too_deep = true;
}

static bool take(const char *name[], int *n, const char *which)
{
    for (int i = 0; i < *n; i++) {
        if (strcmp(name[i], which) == 0) {
            memmove(name + i, name + i + 1,
                    (size_t)(*n - i - 1) * sizeof *name);
            --*n;
            return true;
        }
    }
    return false;
}

// Replaces the members of each class that is there by its name.
static int to_classes(const char *name[], int n)
{
    const char *found[sizeof classes / sizeof *classes];
    int nfound = 0;
    for (size_t c = 0; c < sizeof classes / sizeof *classes; c++) {
        if (!take(name, &n, classes[c].sign))
            continue;
        for (int i = 0; i < MAX_MEMBERS && classes[c].member[i]; i++)
            take(name, &n, classes[c].member[i]);
        found[nfound++] = classes[c].name;
    }
    memmove(name + nfound, name, (size_t)n * sizeof *name);
    memcpy(name, found, (size_t)nfound * sizeof *name);
    return nfound + n;
}

// Signs and keywords in quotes, classes and ends as they are.
static int quote(char *to, size_t size, const char *name)
{
    if (name[0] == '\'') // bison's spelling of a one-letter sign
        return snprintf(to, size, "`%c`", name[1]);
    return snprintf(to, size, strchr(name, ' ') ? "%s" : "`%s`", name);
}

// The error is inside all ( and [ that are open here: one message is enough.
static void mark_reported(ModelParser *p, Span at)
{
    int n = p->nbracket;
    if (n && p->bracket[n - 1].at.start == at.start)
        n--; // the bracket is the error, not around it
    for (; n > 0 && p->bracket[n - 1].open != '{'; n--)
        p->bracket[n - 1].reported = true;
}

void report_unexpected(ModelParser *p, Span at, const char *got,
                       const char *const expected[], int n)
{
    const char **name = arena_new(p->arena, const char *, (size_t)n * 2 + 1);
    memcpy(name, expected, (size_t)n * sizeof *name);
    n = to_classes(name, n);
    mark_reported(p, at);
    char list[200] = "";
    size_t used = 0;
    for (int i = 0; i < n && n <= MAX_EXPECTED; i++) {
        const char *between = !i ? ", expected " : i == n - 1 ? " or " : ", ";
        used +=
            (size_t)snprintf(list + used, sizeof list - used, "%s", between);
        used += (size_t)quote(list + used, sizeof list - used, name[i]);
    }
    if (strncmp(got, "end of", 6) == 0) {
        syntax_error(p, at, "unexpected %s%s", got, list);
        return;
    }
    int length = at.end - at.start < 40 ? at.end - at.start : 40;
    syntax_error(p, at, "unexpected `%.*s`%s", length,
                 p->source->text + at.start, list);
}

// The length of the character at `s`; 0 if it is not UTF-8.
static int utf8_length(const unsigned char *s)
{
    static const unsigned first[] = {0, 0, 0x80, 0x800, 0x10000};
    if (*s < 0x80)
        return 1;
    int n = *s >= 0xf8   ? 0
            : *s >= 0xf0 ? 4
            : *s >= 0xe0 ? 3
            : *s >= 0xc0 ? 2
                         : 0;
    unsigned code = *s & (0xffu >> (n + 1));
    for (int i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (s[i] & 0x3f);
    }
    bool bad = n && (code < first[n] || code > 0x10ffff ||
                     (code >= 0xd800 && code < 0xe000));
    return bad ? 0 : n;
}

// One message, for the first byte that is wrong.
void check_utf8(ModelParser *p)
{
    const char *text = p->source->text;
    for (int i = 0; text[i];) {
        int n = utf8_length((const unsigned char *)text + i);
        if (n == 0) {
            Span at = {p->source, i, i + 1};
            syntax_error(p, at, "not UTF-8");
            return;
        }
        i += n;
    }
}
