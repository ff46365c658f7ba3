#include "base/diag.h"

#include <stdarg.h>
#include <string.h>

static const char *const warning_name[] = {
#define WARNING(id, name, summary) [W_##id] = name,
#include "base/warnings.def"
};

typedef struct Place {
    int line, col; // from 1
    const char *start;
    int length;
} Place;

static Place find_place(Span at)
{
    Place p = {1, 1, at.source->text, 0};
    for (int i = 0; i < at.start && at.source->text[i]; i++) {
        if (at.source->text[i] == '\n') {
            p.line++;
            p.start = at.source->text + i + 1;
        }
    }
    p.col = (int)(at.source->text + at.start - p.start) + 1;
    p.length = (int)strcspn(p.start, "\n");
    return p;
}

// Prints the line that holds `at` and marks its bytes with ^~~~.
static void print_caret(const Diag *d, Span at, Place p)
{
    fprintf(d->out, "  %.*s\n  ", p.length, p.start);
    for (int i = 0; i < p.col - 1; i++)
        fputc(i < p.length && p.start[i] == '\t' ? '\t' : ' ', d->out);
    fputs(d->colour ? "\033[1;32m^" : "^", d->out);
    for (int i = at.start + 1;
         i < at.end && i - at.start < p.length - p.col + 1; i++)
        fputc('~', d->out);
    fputs(d->colour ? "\033[0m\n" : "\n", d->out);
}

static void report(const Diag *d, Span at, const char *kind, const char *colour,
                   const char *suffix, const char *fmt, va_list ap)
{
    Place p = {0};
    if (at.source && at.source->text) {
        p = find_place(at);
        fprintf(d->out, "%s:%d:%d: ", at.source->name, p.line, p.col);
    } else if (at.source) {
        fprintf(d->out, "%s: ", at.source->name);
    } else {
        fputs("shardc: ", d->out);
    }
    if (d->colour)
        fprintf(d->out, "\033[1;%sm%s:\033[0m ", colour, kind);
    else
        fprintf(d->out, "%s: ", kind);
    vfprintf(d->out, fmt, ap);
    if (suffix)
        fprintf(d->out, " [-W%s]", suffix);
    fputc('\n', d->out);
    if (at.source && at.source->text && at.end > at.start)
        print_caret(d, at, p);
}

void diag_error(Diag *d, Span at, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    report(d, at, "error", "31", NULL, fmt, ap);
    va_end(ap);
    d->nerror++;
}

// Whether this warning was said before at this place.
static bool was_said(Diag *d, Span at, const char *fmt, va_list ap)
{
    char text[1024];
    uint64_t h = 0xcbf29ce484222325u ^ (uint64_t)(uintptr_t)at.source;
    int n = vsnprintf(text, sizeof text, fmt, ap);
    h = (h ^ (uint64_t)at.start) * 0x100000001b3u;
    for (int i = 0; i < n && i < (int)sizeof text - 1; i++)
        h = (h ^ (unsigned char)text[i]) * 0x100000001b3u;
    for (int i = 0; i < MAX_SAID; i++) {
        if (d->said[i] == h)
            return true;
        if (!d->said[i]) {
            d->said[i] = h;
            return false;
        }
    }
    return false;
}

void diag_warn(Diag *d, Warning w, Span at, const char *fmt, ...)
{
    if (d->level[w] == WARN_HIDE)
        return;
    bool error = d->werror || d->level[w] == WARN_ERROR;
    va_list ap;
    va_start(ap, fmt);
    bool again = was_said(d, at, fmt, ap);
    va_end(ap);
    if (again)
        return;
    va_start(ap, fmt);
    report(d, at, error ? "error" : "warning", error ? "31" : "35",
           warning_name[w], fmt, ap);
    va_end(ap);
    *(error ? &d->nerror : &d->nwarning) += 1;
}

void diag_note(Diag *d, Span at, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    report(d, at, "note", "36", NULL, fmt, ap);
    va_end(ap);
}

bool diag_failed(const Diag *d)
{
    return d->nerror > 0;
}

bool diag_set_warning(Diag *d, const char *flag)
{
    WarningLevel level = WARN_SHOW;
    if (strcmp(flag, "error") == 0) {
        d->werror = true;
        return true;
    }
    if (strncmp(flag, "error=", 6) == 0) {
        level = WARN_ERROR;
        flag += 6;
    } else if (strncmp(flag, "no-", 3) == 0) {
        level = WARN_HIDE;
        flag += 3;
    }
    for (int w = 0; w < NWARNING; w++) {
        if (strcmp(warning_name[w], flag) == 0) {
            d->level[w] = level;
            return true;
        }
    }
    return false;
}

const char *span_place(Arena *a, Span at)
{
    if (!at.source || !at.source->text)
        return "";
    Place p = find_place(at);
    return arena_printf(a, "%s:%d:%d", at.source->name, p.line, p.col);
}
