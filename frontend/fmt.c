// `shardc fmt`: the author's lines, with one indentation, one spacing, aligned.
//
// Lines are kept as they are written, but a block on several lines starts
// them after its { and ends them before its }, and an `else` stands beside
// the } before it. The tokens stay the same, so the meaning does.
#include "frontend/fmt.h"

#include <string.h>

#include "frontend/frontend.h"
#include "frontend/parse.tab.h"

enum {
    INDENT = 4,
};

typedef struct Layout {
    Arena *arena;
    const Pieces *pieces;
    Lines lines;
    int depth;
    int open_line[MAX_NESTING + 1]; // where each open bracket stands
    bool open_brace[MAX_NESTING + 1];
} Layout;

static bool opens(int kind)
{
    return kind == '(' || kind == '[' || kind == '{';
}

static bool closes(int kind)
{
    return kind == ')' || kind == ']' || kind == '}';
}

// Whether the line goes on with a statement of the line before.
static bool is_continued(const Layout *l, int first)
{
    const Piece *at = l->pieces->at;
    bool in_parens = l->depth && !l->open_brace[l->depth - 1];
    if (at[first].kind == TOKEN_COMMENT || closes(at[first].kind) ||
        at[first].ends_before || in_parens)
        return false;
    int before = first - 1;
    while (before >= 0 && at[before].kind == TOKEN_COMMENT)
        before--;
    return before >= 0 && at[before].kind != '{' && at[before].kind != '}';
}

// One step for each line that has an open bracket, not for each bracket.
static int indent_of(const Layout *l, int first, int end)
{
    const Piece *at = l->pieces->at;
    int depth = l->depth;
    for (int i = first; i < end && closes(at[i].kind); i++)
        depth--;
    int steps = is_continued(l, first);
    for (int i = 0; i < depth; i++)
        steps += i == 0 || l->open_line[i] != l->open_line[i - 1];
    return steps * INDENT;
}

static LineKind kind_of(const Layout *l, int first, int end)
{
    const Piece *at = l->pieces->at;
    int depth = 0, equals = 0;
    switch (at[first].kind) {
    case TOKEN_COMMENT: return LINE_COMMENT;
    case T_PARAM:
    case T_STATE: return LINE_PARAM;
    case T_RULE: return LINE_RULE;
    case T_ALIAS: return LINE_ALIAS;
    case T_REPEAT: return LINE_REPEAT;
    case T_LET: return LINE_LET;
    default: break;
    }
    for (int i = first; i < end; i++) {
        depth += opens(at[i].kind) - closes(at[i].kind);
        equals += at[i].kind == '=' && depth == 0;
    }
    bool name = !at[first].is_keyword && token_can_end(at[first].kind);
    return name && equals == 1 ? LINE_ASSIGN : LINE_OTHER;
}

// The cell that starts at a piece, outside brackets; 0 if none does.
static int cell_at(LineKind kind, const Piece *p, int *gap)
{
    bool after_colon = p[-1].kind == ':';
    *gap = 2;
    switch (p->kind) {
    case TOKEN_COMMENT: return MAX_CELLS - 1;
    case T_SHARD: return kind == LINE_ASSIGN ? 2 : 0;
    case '@': return kind == LINE_PARAM ? 2 : 0;
    case T_REMAT: return kind == LINE_REPEAT ? 2 : 0;
    case T_INIT: return kind == LINE_PARAM ? 3 : 0;
    default: break;
    }
    *gap = 1;
    if (kind == LINE_PARAM || kind == LINE_REPEAT)
        return after_colon;
    if (kind == LINE_RULE)
        return p->kind == T_ARROW;
    return p->kind == '=' && kind != LINE_OTHER;
}

static void add_text(Arena *a, Text *cell, int gap, const Piece *p)
{
    const char *text = p->at.source->text + p->at.start;
    int length = p->at.end - p->at.start;
    while (length && strchr(" \t\r", text[length - 1]))
        length--;
    for (int i = 0; i < gap && cell->n; i++)
        vec_push(a, cell, ' ');
    for (int i = 0; i < length; i++)
        vec_push(a, cell, text[i]);
}

static void note_bracket(Layout *l, const Piece *p)
{
    if (opens(p->kind)) {
        l->open_line[l->depth] = l->lines.n;
        l->open_brace[l->depth++] = p->kind == '{';
    } else if (closes(p->kind)) {
        l->depth--;
    }
}

// Blank lines are kept, one for several, but not at the edges of a block.
static bool wants_blank(const Layout *l, int first)
{
    const Piece *at = l->pieces->at;
    int before = first - 1;
    if (before > 0 && at[before].kind == TOKEN_COMMENT && !at[before].newlines)
        before--;
    return before >= 0 && at[first].newlines > 1 && at[before].kind != '{' &&
           at[first].kind != '}';
}

// Makes one line of the pieces from `first` up to `end`.
static void add_line(Layout *l, int first, int end)
{
    const Piece *at = l->pieces->at;
    Line line = {.kind = kind_of(l, first, end),
                 .indent = indent_of(l, first, end),
                 .blank_before = wants_blank(l, first)};
    int cell = 0, outside = l->depth;
    for (int i = first; i < end; i++) {
        int gap = i > first ? fmt_gap(&at[i - 1], &at[i]) : 0;
        bool may_start = i > first && l->depth == outside;
        int cell_gap = 0;
        int next = may_start ? cell_at(line.kind, &at[i], &cell_gap) : 0;
        if (next > cell) {
            cell = next;
            line.gap[cell] = cell_gap;
        }
        add_text(l->arena, &line.cell[cell], gap, &at[i]);
        note_bracket(l, &at[i]);
    }
    vec_push(l->arena, &l->lines, line);
}

bool fmt_source(Arena *a, const Source *source, FILE *out, Diag *d)
{
    int before = d->nerror;
    Tokens tokens = {0};
    ModelParser *p = arena_new(a, ModelParser, 1);
    *p = (ModelParser){.arena = a,
                       .diag = d,
                       .source = source,
                       .program = arena_new(a, Program, 1),
                       .record = &tokens};
    p->program->arena = a;
    model_read(p);
    if (d->nerror > before)
        return false;
    Pieces pieces = fmt_pieces(a, &tokens);
    Layout l = {.arena = a, .pieces = &pieces};
    for (int first = 0; first < pieces.n;) {
        int end = first + 1;
        while (end < pieces.n && !fmt_breaks(&pieces, end))
            end++;
        add_line(&l, first, end);
        first = end;
    }
    fmt_print(a, &l.lines, out);
    return true;
}
