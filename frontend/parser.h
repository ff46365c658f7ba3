// State shared by the scanner, the layout filter and the parser of programs.
//
// Text goes through three steps: lex.l cuts it into tokens, layout.c decides
// which line ends are the end of a statement and watches the brackets, parse.y
// builds the tree of ast.h with the helpers of tree.c.
#pragma once

#include <stdlib.h>

#include "frontend/ast.h"

enum {
    MAX_NESTING = 200,  // of brackets
    MAX_MESSAGES = 100, // of one file
    TOKEN_COMMENT = -1,
};

typedef struct Token { // of a recording, for fmt
    int kind;
    Span at;
} Token;

typedef VEC(Token) Tokens;

typedef struct ModelParser ModelParser;

// Called at `include "path"`, so that declarations come in reading order.
typedef void IncludeHandler(ModelParser *p, Name path);

typedef struct Bracket {
    char open;
    bool reported; // the parser found a fault inside
    int indent;    // of its line
    Span at;
} Bracket;

struct ModelParser {
    Arena *arena;
    Diag *diag;
    const Source *source;
    Program *program;
    IncludeHandler *include; // NULL: includes are not read
    void *loader;            // the handler's own
    Tokens *record;          // NULL: not wanted

    int offset;      // of the scanner, in bytes
    bool newline;    // a line ended since the last token
    int line_start;  // of the last token's line
    int line_indent; // before its first token
    int last;        // the last token given to the parser
    int last_end;    // where it ends
    bool held;       // a token waits behind an end of line or an error
    int held_token;
    Span held_at;
    Name held_name;
    int nclose; // blocks to close before the held token
    int nbracket;
    Bracket bracket[MAX_NESTING];
    int nmessage; // syntax errors so far
    bool stop;    // give up: the rest is read as the end of the file
    bool too_deep;
    bool in_train;
};

// Reads one text into `p->program`; `p` has all up to `record` set.
void model_read(ModelParser *p);
// Errors for what is declared twice (unique.c).
void check_unique(const Program *p, Diag *d);
// A program of one text, includes not followed; NULL if there was an error.
Program *program_parse(Arena *a, const Source *source, Diag *d);

// Layout (layout.c): whether a statement can end after a token, and whether it
// can only continue what stands before it.
bool token_can_end(int token);
bool token_continues(int token);
void record_token(ModelParser *p, int kind, Span at);

// Messages about the text (syntax.c); at most MAX_MESSAGES of a file.
void syntax_error(ModelParser *p, Span at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void report_unexpected(ModelParser *p, Span at, const char *got,
                       const char *const expected[], int n);
void too_deep(ModelParser *p, Span at); // says so once
void check_utf8(ModelParser *p);
