// The text of a module. What it builds is checked by module_verify, not here;
// only what could not be built at all is an error here.
%require "3.8"
%define api.pure full
%define api.prefix {ir_}
%define api.location.type {Span}
%define parse.error custom
%define parse.lac full
%locations
%param { void *scanner }
%parse-param { struct Parser *p }
%initial-action { @$ = (Span){.source = p->source}; }

%code requires {
#include "base/diag.h"
#include "ir/sharding.h"
struct Op;
struct Parser;
}

%code {
#define YYLLOC_DEFAULT(cur, rhs, n)                                            \
    ((cur).source = YYRHSLOC(rhs, (n) ? 1 : 0).source,                         \
     (cur).start = (n) ? YYRHSLOC(rhs, 1).start : YYRHSLOC(rhs, 0).end,        \
     (cur).end = YYRHSLOC(rhs, n).end)
#include "ir/op.h"
#include "ir/parser.h"
#include <string.h>

static void ir_error(Span *at, void *scanner, Parser *p, const char *msg);
static void begin_module(Parser *p, Span at, const char *form);
static void begin_func(Parser *p, Span at, const char *name);
static void add_axis(Parser *p, Span at, const char *name, int64_t size);
static void begin_op(Parser *p, Span at, const char *name, const char *code,
                     Span code_at);
static void end_op(Parser *p, const char *place);
static Op *find_value(Parser *p, Span at, const char *name);
static void set_dtype(Parser *p, Span at, const char *name);
static void add_dim(Parser *p, Span at, int64_t size, const Split *s);
static void set_partial(Parser *p, Span at, const char *combiner,
                        const Split *s);
static void add_run(Parser *p, Span at, Split *s, const char *axis,
                    int64_t pre, int64_t size);
static void add_gap(Parser *p, Span at, Split *s, int64_t size);
static void add_int(Parser *p, Span at, const char *key, int64_t i);
static void add_floats(Parser *p, Span at, const char *key);
static void add_str(Parser *p, Span at, const char *key, const char *s);
static void add_split(Parser *p, Span at, const char *key, const Split *s);
static void add_result(Parser *p, Span at, const char *as, const char *name);
}

%union {
    const char *name;
    int64_t i;
    double f;
    Split split;
}

%token T_MESH "mesh" T_FORM "form" T_FUNC "func" T_RETURN "return" T_AT "at"
%token T_BAD "stray byte"
%token <name> T_PENDING "{combiner:" T_ID "name" T_VALUE "value" T_STRING "string" T_SYMBOL "@name"
%token <i> T_INT "integer"
%token <f> T_FLOAT "number"
%type <split> items item run split
%type <name> place

%%

module: "mesh" mesh_axes "form" T_ID { begin_module(p, @4, $4); } functions ;

mesh_axes: %empty | mesh_axes T_ID '=' T_INT { add_axis(p, @2, $2, $4); } ;

functions: function | functions function ;

function: "func" T_SYMBOL { begin_func(p, @2, $2); } '(' params ')'
          '{' ops "return" results '}'
    ;

params: %empty | param_list ;
param_list: param | param_list ',' param ;
param: T_VALUE ':' { begin_op(p, @1, $1, "param", @1); } type attrs place
    { end_op(p, $6); }
    ;

ops: %empty | ops op ;
op: T_VALUE '=' T_ID { begin_op(p, @1, $1, $3, @3); } operands attrs ':' type
    place { end_op(p, $9); }
    ;

operands: %empty | operand_list ;
operand_list: operand | operand_list ',' operand ;
operand: T_VALUE
    { vec_push(p->arena, &p->operands, find_value(p, @1, $1)); }
    ;

attrs: %empty | '{' attr_list '}' ;
attr_list: attr | attr_list ',' attr ;
attr: T_ID '=' T_INT        { add_int(p, @1, $1, $3); }
    | T_ID '=' T_FLOAT      { p->floats.n = 0; vec_push(p->arena, &p->floats, $3);
                              add_floats(p, @1, $1); }
    | T_ID '=' T_STRING     { add_str(p, @1, $1, $3); }
    | T_ID '=' '[' { p->floats.n = 0; } numbers ']' { add_floats(p, @1, $1); }
    | T_ID '=' run          { add_split(p, @1, $1, &$3); }
    | T_ID '=' '(' items ')' { add_split(p, @1, $1, &$4); }
    | T_ID '=' '(' ')'      { add_split(p, @1, $1, &(Split){0}); }
    ;

numbers: %empty | number_list ;
number_list: number | number_list ',' number ;
number: T_INT   { vec_push(p->arena, &p->floats, (double)$1); }
    | T_FLOAT   { vec_push(p->arena, &p->floats, $1); }
    ;

type: T_ID { set_dtype(p, @1, $1); } '[' dims ']' partial ;
dims: %empty | dim_list ;
dim_list: dim | dim_list ',' dim ;
dim: T_INT split { add_dim(p, @1, $1, &$2); } ;

split: %empty           { $$ = (Split){0}; }
    | T_SYMBOL          { $$ = (Split){0}; add_run(p, @1, &$$, $1, 1, 0); }
    | T_SYMBOL ':' '(' T_INT ')' T_INT
        { $$ = (Split){0}; add_run(p, @1, &$$, $1, $4, $6); }
    | '@' '(' items ')' { $$ = $3; }
    ;

items: item | items ',' item
    {
        $$ = $1;
        if ($1.n + $3.n > MAX_ITEMS)
            diag_error(p->diag, @3, "more than %d items", MAX_ITEMS);
        else
            split_append(&$$, &$3);
    }
    ;
item: T_INT             { $$ = (Split){0}; add_gap(p, @1, &$$, $1); }
    | run
    ;
run: T_ID               { $$ = (Split){0}; add_run(p, @1, &$$, $1, 1, 0); }
    | T_ID ':' '(' T_INT ')' T_INT
        { $$ = (Split){0}; add_run(p, @1, &$$, $1, $4, $6); }
    ;

partial: %empty
    | T_PENDING items '}' { set_partial(p, @1, $1, &$2); }
    ;

place: %empty { $$ = NULL; } | "at" T_STRING { $$ = $2; } ;

results: %empty | result_list ;
result_list: result | result_list ',' result ;
result: T_VALUE      { add_result(p, @1, NULL, $1); }
    | T_ID '=' T_VALUE { add_result(p, @3, $1, $3); }
    ;

%%

static void ir_error(Span *at, void *scanner, Parser *p, const char *msg)
{
    (void)scanner;
    diag_error(p->diag, *at, "%s", msg);
}

static int yyreport_syntax_error(const yypcontext_t *ctx, void *scanner,
                                 Parser *p)
{
    (void)scanner;
    enum { MAX_EXPECTED = 4 };
    yysymbol_kind_t want[MAX_EXPECTED];
    int n = yypcontext_expected_tokens(ctx, want, MAX_EXPECTED);
    yysymbol_kind_t got = yypcontext_token(ctx);
    const char *list = "";
    for (int i = 0; i < n; i++)
        list = arena_printf(p->arena, "%s%s%s", list,
                            i ? " or " : ", expected ",
                            yysymbol_name(want[i]));
    diag_error(p->diag, *yypcontext_location(ctx), "unexpected %s%s",
               got == YYSYMBOL_YYEMPTY ? "text" : yysymbol_name(got), list);
    return 0;
}

static void begin_module(Parser *p, Span at, const char *form)
{
    int i = 0;
    while (i < NFORM && strcmp(form_name[i], form) != 0)
        i++;
    if (i == NFORM)
        diag_error(p->diag, at, "no form is called %s", form);
    p->module = module_new(p->arena, &p->mesh, i == NFORM ? FORM_global : (Form)i);
}

static void begin_func(Parser *p, Span at, const char *name)
{
    if (module_find(p->module, name))
        diag_error(p->diag, at, "@%s is defined twice", name);
    p->func = func_new(p->module, name);
    p->scope.n = 0;
}

static void add_axis(Parser *p, Span at, const char *name, int64_t size)
{
    if (size < 1 || size > INT32_MAX || !mesh_add_axis(&p->mesh, name, (int)size))
        diag_error(p->diag, at, "axis %s=%ld does not fit the mesh", name,
                   (long)size);
}

static Op *find_value(Parser *p, Span at, const char *name)
{
    for (int i = p->scope.n - 1; i >= 0; i--)
        if (strcmp(p->scope.at[i].name, name) == 0)
            return p->scope.at[i].op;
    diag_error(p->diag, at, "%%%s is not defined", name);
    return NULL;
}

static bool is_late_param(const Parser *p)
{
    return p->op->code == OP_param && p->func->nparam != p->func->ops.n;
}

static void begin_op(Parser *p, Span at, const char *name, const char *code,
                     Span code_at)
{
    int c = op_find(code);
    if (c < 0)
        diag_error(p->diag, code_at, "no op is called %s", code);
    for (int i = 0; i < p->scope.n; i++)
        if (strcmp(p->scope.at[i].name, name) == 0)
            diag_error(p->diag, at, "%%%s is defined twice", name);
    p->op = arena_new(p->arena, Op, 1);
    p->op->code = c < 0 ? OP_constant : (OpCode)c;
    p->op->at = code_at;
    if (is_late_param(p))
        diag_error(p->diag, at, "a param must come first");
    p->op_name = name;
    p->operands.n = 0;
    p->used = 0;
}

// The parts are gathered in p->op, then added to the function as one op.
static void end_op(Parser *p, const char *place)
{
    const Op *read = p->op;
    bool is_whole = read->type.dtype != NDTYPE && !is_late_param(p);
    for (int i = 0; i < p->operands.n; i++)
        is_whole &= p->operands.at[i] != NULL;
    if (!is_whole) { // known, so that its uses are no further errors
        vec_push(p->arena, &p->scope, ((ValueName){p->op_name, NULL}));
        return;
    }
    Op *op = func_add(p->func, read->code, p->operands.n, p->operands.at);
    op->attrs.at = read->attrs.at;
    op->attrs.n = read->attrs.n;
    op->attrs.cap = read->attrs.cap;
    // %7 is a position, not a name: it is printed as wherever it ends up.
    bool is_number = p->op_name[0] >= '0' && p->op_name[0] <= '9';
    op->name = is_number ? NULL : p->op_name;
    op->type = read->type;
    op->sharding = read->sharding;
    op->at = read->at;
    op->place = place;
    vec_push(p->arena, &p->scope, ((ValueName){p->op_name, op}));
    int id = (int)op_int(op, A_id, 0);
    if (id > p->module->next_id)
        p->module->next_id = id;
}

static void set_dtype(Parser *p, Span at, const char *name)
{
    p->op->type.dtype = dtype_find(name);
    if (p->op->type.dtype == NDTYPE)
        diag_error(p->diag, at, "no element type is called %s", name);
}

static void add_dim(Parser *p, Span at, int64_t size, const Split *s)
{
    Type *t = &p->op->type;
    if (t->rank == MAX_RANK) {
        diag_error(p->diag, at, "more than %d dimensions", MAX_RANK);
        return;
    }
    if (size < 0 || size > (int64_t)1 << 40)
        diag_error(p->diag, at, "no dimension has size %ld", (long)size);
    AtomSet atoms = split_atoms(s);
    if (p->used & atoms)
        diag_error(p->diag, at, "an axis splits two dimensions");
    p->used |= atoms;
    p->op->sharding.dim[t->rank] = *s;
    split_trim(&p->op->sharding.dim[t->rank]);
    t->dim[t->rank++] = size;
}

static void set_partial(Parser *p, Span at, const char *combiner,
                        const Split *s)
{
    int c = 0;
    while (c < NCOMBINER && strcmp(combiner_name[c], combiner) != 0)
        c++;
    if (c == NCOMBINER)
        diag_error(p->diag, at, "no combiner is called %s", combiner);
    if (p->used & split_atoms(s))
        diag_error(p->diag, at, "an axis is both split and pending");
    p->op->sharding.combiner = (Combiner)(c == NCOMBINER ? 0 : c);
    p->op->sharding.partial = split_atoms(s);
}

// The atoms of an axis, or of its part of `size` after `pre` (0: all).
static void add_run(Parser *p, Span at, Split *s, const char *axis,
                    int64_t pre, int64_t size)
{
    int i = mesh_find(&p->mesh, axis);
    if (i < 0) {
        diag_error(p->diag, at, "the mesh has no axis %s", axis);
        return;
    }
    const Axis *x = &p->mesh.axis[i];
    int64_t before = 1, part = 1;
    for (int k = x->atom; k < x->atom + x->natom; k++) {
        bool inside = before >= pre && (!size || part < size);
        if (inside) {
            if (s->n < MAX_ITEMS)
                split_push(s, k);
            part *= p->mesh.atom[k].size;
        } else if (before < pre) {
            before *= p->mesh.atom[k].size;
        }
    }
    if (before != pre || (size && part != size))
        diag_error(p->diag, at, "axis %s of %d has no part :(%ld)%ld", axis,
                   x->size, (long)pre, (long)size);
}

static void add_gap(Parser *p, Span at, Split *s, int64_t size)
{
    if (size < 1 || size > INT32_MAX)
        diag_error(p->diag, at, "a gap must be from 1 to %d", INT32_MAX);
    else
        split_push(s, -(int32_t)size);
}

// The key if it is known, not there yet, and holds values of a kind.
static int check_key(Parser *p, Span at, const char *key, unsigned kinds)
{
    int k = attr_find(key);
    if (k < 0)
        diag_error(p->diag, at, "no attribute is called %s", key);
    else if (!(kinds >> attr_kind[k] & 1))
        diag_error(p->diag, at, "attribute %s holds another kind of value", key);
    else if (op_attr(p->op, (AttrKey)k))
        diag_error(p->diag, at, "attribute %s stands twice", key);
    else
        return k;
    return -1;
}

static void push_attr(Parser *p, Attr attr)
{
    vec_push(p->arena, &p->op->attrs, attr);
}

// One number is an int, a float, or the size of a split.
static void add_int(Parser *p, Span at, const char *key, int64_t i)
{
    int k = check_key(p, at, key, 1u << ATTR_INT | 1u << ATTR_FLOATS);
    if (k < 0)
        return;
    if (attr_kind[k] == ATTR_INT) {
        int64_t *copy = arena_new(p->arena, int64_t, 1);
        *copy = i;
        push_attr(p, (Attr){.key = (AttrKey)k, .n = 1, .ints = copy});
        return;
    }
    double *copy = arena_new(p->arena, double, 1);
    *copy = (double)i;
    push_attr(p, (Attr){.key = (AttrKey)k, .n = 1, .floats = copy});
}

static void add_floats(Parser *p, Span at, const char *key)
{
    int k = check_key(p, at, key, 1u << ATTR_INTS | 1u << ATTR_FLOATS);
    if (k < 0)
        return;
    int n = p->floats.n;
    if (attr_kind[k] == ATTR_FLOATS) {
        double *copy = arena_new(p->arena, double, (size_t)n);
        for (int j = 0; j < n; j++)
            copy[j] = p->floats.at[j];
        push_attr(p, (Attr){.key = (AttrKey)k, .n = n, .floats = copy});
        return;
    }
    int64_t *copy = arena_new(p->arena, int64_t, (size_t)n);
    for (int j = 0; j < n; j++) {
        double x = p->floats.at[j];
        if (!(x >= -0x1p53 && x <= 0x1p53) || x != (double)(int64_t)x) {
            diag_error(p->diag, at, "attribute %s holds integers", key);
            return;
        }
        copy[j] = (int64_t)x;
    }
    push_attr(p, (Attr){.key = (AttrKey)k, .n = n, .ints = copy});
}

static void add_str(Parser *p, Span at, const char *key, const char *s)
{
    int k = check_key(p, at, key, 1u << ATTR_STR);
    if (k >= 0)
        push_attr(p, (Attr){.key = (AttrKey)k, .n = 1, .str = s});
}

static void add_split(Parser *p, Span at, const char *key, const Split *s)
{
    int k = check_key(p, at, key, 1u << ATTR_SPLIT);
    if (k < 0)
        return;
    Split *copy = arena_new(p->arena, Split, 1);
    *copy = *s;
    push_attr(p, (Attr){.key = (AttrKey)k, .n = 1, .split = copy});
}

static void add_result(Parser *p, Span at, const char *as, const char *name)
{
    Op *op = find_value(p, at, name);
    if (!op)
        return;
    if (as ? p->func->result_names.n != p->func->results.n
           : p->func->result_names.n > 0)
        diag_error(p->diag, at, "name all results or none");
    vec_push(p->arena, &p->func->results, op);
    if (as)
        vec_push(p->arena, &p->func->result_names, as);
}

struct yy_buffer_state *ir__scan_string(const char *s, void *scanner);

Module *module_parse(Arena *a, const Source *source, Diag *d)
{
    Parser p = {.arena = a, .diag = d, .source = source};
    void *scanner;
    int before = d->nerror;
    ir_lex_init_extra(&p, &scanner);
    ir__scan_string(source->text, scanner);
    int failed = ir_parse(scanner, &p);
    ir_lex_destroy(scanner);
    return failed || d->nerror > before ? NULL : p.module;
}
