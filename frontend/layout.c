// Layout: which line ends are the end of a statement, and whether brackets
// match. It stands between the scanner and the parser.
//
// A line end counts (as T_END) outside ( ) and [ ], after a token that can end
// a statement, and before one that cannot continue it. A bracket that is
// never closed is reported where it was opened: at a `}` or a keyword that
// cannot be inside it, the parser gets one error token and goes on.
#include <string.h>

#include "frontend/parser.h"
#include "frontend/parse.tab.h"

typedef MODEL_STYPE Value;

int model_lex(Value *val, Span *at, void *scanner);
int model_scan(Value *val, Span *at, void *scanner);
ModelParser *model_get_extra(void *scanner);

static const int ends[] = {
    T_NAME,  T_NUMBER,  T_STRING, T_RULE,  T_NONE, T_MODEL, T_INCLUDE,
    T_SIZES, T_OPTIONS, T_CONFIG, T_RULES, T_MESH, T_TRAIN, T_FN,
    T_REST,  ')',       ']',      '}',     0,
};

static const int continues[] = {
    T_POWER, T_CONCAT, T_EQ,  T_NE, T_LE, T_GE, T_AND, T_OR, T_ARROW, T_INIT,
    T_REMAT, T_ELSE,   T_END, '+',  '-',  '*',  '/',   '<',  '>',     '@',
    ',',     '=',      ':',   '.',  '{',  '}',  ')',   ']',  0,
};

static bool is_in(const int set[], int token)
{
    while (*set && *set != token)
        set++;
    return *set != 0;
}

bool token_can_end(int token)
{
    return is_in(ends, token);
}

bool token_continues(int token)
{
    return is_in(continues, token);
}

static char top(const ModelParser *p)
{
    return p->nbracket ? p->bracket[p->nbracket - 1].open : 0;
}

// Drops the brackets above `depth`: reports the outer one, unless the parser
// found fault with what is in it. The parser gets an error token, which ends
// the statement, and then a `}` for each block.
static int drop_brackets(ModelParser *p, int depth)
{
    Bracket b = p->bracket[depth];
    if (!b.reported)
        syntax_error(p, b.at, "`%c` is never closed", b.open);
    for (int i = depth; i < p->nbracket && p->bracket[i].open == '{'; i++)
        p->nclose++;
    p->nbracket = depth;
    return MODEL_error;
}

// A keyword that starts a declaration (at the start of its line, and not as
// `model = 2` or `mesh -> x`, where it is a name).
static bool starts_item(const ModelParser *p, int token, Span at)
{
    const char *next = p->source->text + at.end;
    next += strspn(next, " \t");
    switch (token) {
    case T_FN: return p->last != ':';
    case T_LET: return true;
    case T_MODEL:
    case T_INCLUDE:
    case T_SIZES:
    case T_OPTIONS:
    case T_CONFIG:
    case T_RULES:
    case T_MESH:
    case T_TRAIN:
        return at.start == p->line_start && *next && !strchr("=,:)]-.", *next);
    default: return false;
    }
}

static bool starts_statement(int token)
{
    return token == T_PARAM || token == T_SHARD || token == T_REPEAT ||
           token == T_RETURN || token == T_STATE || token == T_BACKWARD;
}

static int open_bracket(ModelParser *p, int token, Span at)
{
    if (p->nbracket == MAX_NESTING) {
        too_deep(p, at);
        p->stop = true;
        return MODEL_error;
    }
    p->bracket[p->nbracket++] =
        (Bracket){.open = (char)token, .indent = p->line_indent, .at = at};
    return token;
}

// The innermost `{` that is open, as a depth; -1 if none.
static int open_brace(const ModelParser *p)
{
    int i = p->nbracket - 1;
    while (i >= 0 && p->bracket[i].open != '{')
        i--;
    return i;
}

static int close_bracket(ModelParser *p, int token)
{
    char want = token == ')' ? '(' : token == ']' ? '[' : '{';
    if (top(p) == want) {
        p->nbracket--;
        return token;
    }
    int brace = open_brace(p);
    if (token == '}' && brace >= 0)
        return drop_brackets(p, brace + 1);
    return token; // the parser reports it
}

// Whether a new line shows that the innermost ( or [ should have been closed.
// Where the parser found a fault inside, an outdented line is enough.
static bool shows_unclosed(const ModelParser *p, int token)
{
    Bracket b = p->bracket[p->nbracket - 1];
    if (starts_statement(token))
        return true;
    return b.reported && token != ')' && token != ']' &&
           p->line_indent <= b.indent;
}

// Watches brackets. An error token stands for the reported bracket; the token
// that showed it comes after it.
static int check_brackets(ModelParser *p, int token, Span at)
{
    bool in_parens = top(p) == '(' || top(p) == '[';
    if (p->newline && p->nbracket && starts_item(p, token, at))
        return drop_brackets(p, 0);
    if (p->newline && in_parens && shows_unclosed(p, token))
        return drop_brackets(p, open_brace(p) + 1);
    if (token == 0 && p->nbracket)
        return drop_brackets(p, 0);
    if (token == '(' || token == '[' || token == '{')
        return open_bracket(p, token, at);
    if (token == ')' || token == ']' || token == '}')
        return close_bracket(p, token);
    return token;
}

// The next token of the text, or the one held back.
static int next_token(ModelParser *p, Value *val, Span *at, void *scanner)
{
    if (p->held) {
        *val = (Value){.name = p->held_name};
        *at = p->held_at;
        p->held = false;
        return p->held_token;
    }
    int token = model_scan(val, at, scanner);
    if (token == 0) {
        *at = (Span){p->source, p->last_end, p->last_end + 1};
        p->newline = true;
    }
    return token;
}

// Gives `instead` now and `token` at the next call. `last` is what the held
// token comes after.
static int hold(ModelParser *p, int token, const Value *val, Span at,
                int instead, int last)
{
    p->held = true;
    p->held_token = token;
    p->held_at = at;
    p->held_name = val->name;
    p->last = last;
    return instead;
}

void record_token(ModelParser *p, int kind, Span at)
{
    if (p->record && kind != 0)
        vec_push(p->arena, p->record, ((Token){kind, at}));
}

// Of a block that was dropped.
static int close_block(ModelParser *p, Span *at)
{
    p->nclose--;
    p->last = '}';
    *at = (Span){p->source, p->last_end, p->last_end + 1};
    return '}';
}

int model_lex(Value *val, Span *at, void *scanner)
{
    ModelParser *p = model_get_extra(scanner);
    if (p->stop)
        return 0;
    if (p->nclose)
        return close_block(p, at);
    int token = next_token(p, val, at, scanner);
    if (p->stop)
        return 0;
    if (p->newline)
        p->line_indent = at->start - p->line_start;
    bool in_parens = top(p) == '(' || top(p) == '[';
    if (p->newline && !in_parens && token_can_end(p->last) &&
        !token_continues(token)) {
        hold(p, token, val, *at, T_END, T_END);
        *at = (Span){p->source, p->last_end, p->last_end + 1};
        record_token(p, T_END, *at);
        return T_END;
    }
    int checked = check_brackets(p, token, *at);
    if (checked != token) // as if it had been closed
        return hold(p, token, val, *at, MODEL_error, ')');
    // In `a ->` the arrow ends the line of a rule without axes.
    p->last = token == T_ARROW && p->last == T_RULE ? T_RULE : token;
    p->last_end = at->end;
    p->newline = false;
    record_token(p, token, *at);
    return token;
}
