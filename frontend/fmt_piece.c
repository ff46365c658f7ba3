// From tokens to pieces: what each is, and the blanks between two of them.
#include <string.h>

#include "frontend/fmt.h"
#include "frontend/parse.tab.h"

// State of the walk that classifies pieces.
typedef struct Walk {
    Pieces *pieces;
    int depth;
    int open[MAX_NESTING + 1]; // indexes of the open brackets
    int item;                  // the keyword that started the declaration
} Walk;

static bool is_soft(int kind)
{
    return kind == T_MODEL || kind == T_INCLUDE || kind == T_SIZES ||
           kind == T_OPTIONS || kind == T_CONFIG || kind == T_RULES ||
           kind == T_MESH || kind == T_TRAIN;
}

static bool is_hard(int kind)
{
    return kind == T_LET || kind == T_FN || kind == T_ALIAS ||
           kind == T_PARAM || kind == T_INIT || kind == T_SHARD ||
           kind == T_IF || kind == T_ELSE || kind == T_REPEAT ||
           kind == T_REMAT || kind == T_RETURN || kind == T_INPUT ||
           kind == T_STATE || kind == T_BACKWARD;
}

static bool is_operand_end(const Piece *p)
{
    return p && token_can_end(p->kind) && !p->is_keyword && !p->is_prefix;
}

static bool is_infix(const Piece *p)
{
    bool sign = p->kind == '{' || p->kind == '}' || p->kind == ')' ||
                p->kind == ']' || p->kind == T_INIT || p->kind == T_REMAT ||
                p->kind == T_ELSE;
    return token_continues(p->kind) && !sign;
}

static const Piece *top(const Walk *w)
{
    return w->depth ? &w->pieces->at[w->open[w->depth - 1]] : NULL;
}

static bool opens(int kind)
{
    return kind == '(' || kind == '[' || kind == '{';
}

static bool closes(int kind)
{
    return kind == ')' || kind == ']' || kind == '}';
}

// Whether the block has a line end in it; `{}` over two lines has none.
static bool has_lines(const Pieces *p, int open, int close)
{
    for (int i = open + 1; i <= close; i++)
        if (p->at[i].newlines && close > open + 1)
            return true;
    return false;
}

static void close_bracket(Walk *w, int i)
{
    Piece *at = w->pieces->at;
    int open = w->open[--w->depth];
    at[open].match = i;
    at[i].match = open;
    int before = open - 1;
    while (before >= 0 && at[before].kind == TOKEN_COMMENT)
        before--;
    int head = before >= 0 ? at[before].kind : 0;
    // `return (x)` has no prefix: only its index lists are one.
    bool index = at[i].kind == ']' && (head == T_RETURN || head == ',');
    at[i].is_prefix = head == T_REDUCER || index;
    at[i].is_multiline = at[i].kind == '}' && has_lines(w->pieces, open, i);
    at[open].is_multiline = at[i].is_multiline;
}

static void classify(Walk *w, int i, const Piece *before)
{
    Piece *p = &w->pieces->at[i];
    p->is_keyword = is_hard(p->kind);
    if (is_soft(p->kind) && w->depth == 0)
        p->is_keyword = !before || p->ends_before || is_operand_end(before);
    if (w->depth == 0 && p->is_keyword)
        w->item = p->kind;
    p->is_sign = p->kind == '!' || (p->kind == '-' && !is_operand_end(before));
    if (p->kind == ':') {
        p->is_slice = top(w) && top(w)->kind == '[';
        p->is_base = !top(w) && (w->item == T_CONFIG || w->item == T_RULES);
    }
    if (opens(p->kind))
        w->open[w->depth++] = i;
    else if (closes(p->kind))
        close_bracket(w, i);
}

static int count_newlines(const Source *s, int from, int to)
{
    int n = 0;
    for (int i = from; i < to; i++)
        n += s->text[i] == '\n';
    return n;
}

// Ends of statements are no pieces; a `;` is left out.
Pieces fmt_pieces(Arena *a, const Tokens *tokens)
{
    Pieces pieces = {0};
    bool ends = false;
    for (int i = 0, end = 0; i < tokens->n; i++) {
        const Token *t = &tokens->at[i];
        if (t->kind == T_END) {
            ends = true;
            continue;
        }
        Piece p = {.kind = t->kind, .at = t->at, .match = -1};
        p.newlines = count_newlines(t->at.source, end, t->at.start);
        if (t->kind != TOKEN_COMMENT) {
            p.ends_before = ends;
            ends = false;
        }
        end = t->at.end;
        vec_push(a, &pieces, p);
    }
    Walk w = {.pieces = &pieces};
    const Piece *before = NULL;
    for (int i = 0; i < pieces.n; i++) {
        if (pieces.at[i].kind == TOKEN_COMMENT)
            continue;
        classify(&w, i, before);
        before = &pieces.at[i];
    }
    return pieces;
}

// ( and [ stand close to what they apply to.
static int gap_before_open(const Piece *before)
{
    bool applies = is_operand_end(before) || before->kind == T_REDUCER ||
                   before->kind == T_P;
    return applies ? 0 : 1;
}

int fmt_gap(const Piece *before, const Piece *p)
{
    int a = before->kind, b = p->kind;
    if (b == TOKEN_COMMENT)
        return 2;
    if (a == '(' || a == '[' || b == ')' || b == ']' || b == ',' || a == '.' ||
        b == '.' || before->is_sign || (a == '{' && b == '}'))
        return 0;
    if (a == '{' || b == '{' || b == '}' || a == ',' || a == ':')
        return 1;
    if (b == ':')
        return p->is_slice || p->is_base;
    if (b == '(' || b == '[')
        return gap_before_open(before);
    if (is_infix(before) || is_infix(p) || before->is_keyword ||
        before->is_prefix || b == T_ELSE)
        return 1;
    return 2; // another statement or field
}

bool fmt_breaks(const Pieces *pieces, int i)
{
    const Piece *p = &pieces->at[i], *before = p - 1;
    if (i == 0 || before->kind == TOKEN_COMMENT)
        return true;
    if (p->kind == TOKEN_COMMENT)
        return p->newlines > 0;
    if (p->kind == '{' || p->kind == T_ELSE)
        return false;
    if (p->is_multiline || before->is_multiline) {
        bool after = before->kind == '}' && !p->is_multiline;
        return !after || p->newlines || !token_continues(p->kind);
    }
    return p->newlines > 0 && !(before->kind == '{' && p->kind == '}');
}
