// The parts of `shardc fmt`: pieces of text (fmt_piece.c), put on lines
// (fmt.c), aligned in columns (fmt_align.c).
#pragma once

#include "frontend/parser.h"

// A token or a comment, and what of its surroundings the layout depends on.
typedef struct Piece {
    int kind; // TOKEN_COMMENT or a token
    Span at;
    int newlines;      // in the source before it
    bool ends_before;  // a statement ended before it
    bool is_keyword;   // not a name that is spelled as one
    bool is_sign;      // - or ! before an operand
    bool is_prefix;    // the ) of sum(k), the ] of return [k]
    bool is_slice;     // a : in [ ]
    bool is_base;      // the : of `rules a : b`
    bool is_multiline; // a brace of a block on several lines
    int match;         // bracket: the index of its other half
} Piece;

typedef VEC(Piece) Pieces;

Pieces fmt_pieces(Arena *a, const Tokens *tokens);
// Blanks between two neighbours on a line.
int fmt_gap(const Piece *before, const Piece *p);
bool fmt_breaks(const Pieces *pieces, int i); // a line starts with piece i

enum {
    MAX_CELLS = 5,
};

// Lines of one kind that follow each other have their cells aligned.
typedef enum LineKind {
    LINE_OTHER,
    LINE_COMMENT, // alone
    LINE_ASSIGN,  // cells: left | = right | shard | comment
    LINE_LET,     // let a | = b
    LINE_PARAM,   // param a: | type | @ axes | init | comment
    LINE_RULE,    // a | -> b
    LINE_ALIAS,   // alias a | = b
    LINE_REPEAT,  // repeat a: | count | remat
} LineKind;

typedef VEC(char) Text;

typedef struct Line {
    LineKind kind;
    int indent;
    bool blank_before;
    Text cell[MAX_CELLS]; // empty: not there
    int gap[MAX_CELLS];   // blanks before the cell, at least
} Line;

typedef VEC(Line) Lines;

void fmt_print(Arena *a, Lines *lines, FILE *out);
