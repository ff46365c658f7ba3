// Diagnostics: file:line:col: error: message, the source line, and a caret.
//
// Errors are counted, not fatal: a phase reports all it finds and its caller
// asks diag_failed() whether to go on. A warning has a name, by which
// -Wno-NAME silences it and -Werror=NAME makes it an error; the same one at the
// same place is said once (a function may be inlined twice).
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"

// A text that messages can point into.
typedef struct Source {
    const char *name; // as the user wrote it
    const char *text; // NUL-terminated
} Source;

// A piece of a source, in bytes from its start. {0} means "nowhere".
typedef struct Span {
    const Source *source;
    int start, end;
} Span;

typedef enum Warning {
#define WARNING(id, name, summary) W_##id,
#include "base/warnings.def"
    NWARNING,
} Warning;

typedef enum WarningLevel {
    WARN_SHOW,
    WARN_HIDE,
    WARN_ERROR,
} WarningLevel;

enum {
    MAX_SAID = 256, // warnings remembered
};

typedef struct Diag {
    FILE *out;
    bool colour;
    bool werror; // every warning is an error
    WarningLevel level[NWARNING];
    int nerror;
    int nwarning;
    uint64_t said[MAX_SAID]; // warnings by hash: each is said once
} Diag;

void diag_error(Diag *d, Span at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void diag_warn(Diag *d, Warning w, Span at, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void diag_note(Diag *d, Span at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
bool diag_failed(const Diag *d);

// Sets what -W`flag` asks for (`error`, `error=NAME`, `no-NAME`, `NAME`);
// false if there is no such warning.
bool diag_set_warning(Diag *d, const char *flag);

// "file:line:col" of the start of a span; "" for nowhere.
const char *span_place(Arena *a, Span at);
