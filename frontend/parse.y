// The grammar of the model language.
//
// A T_END is an end of line (or `;`) at which a statement may end; it is never
// needed, because no statement starts with a token that could continue one.
// Errors are caught at the next T_END or closing brace.
%require "3.8"
%define api.pure full
%define api.prefix {model_}
%define api.location.type {Span}
%define parse.error custom
%define parse.lac full
%locations
%param { void *scanner }
%parse-param { struct ModelParser *p }

%code requires {
#include "frontend/ast.h"
struct ModelParser;
}

%code {
#define YYLLOC_DEFAULT(cur, rhs, n)                                            \
    ((cur).source = YYRHSLOC(rhs, (n) ? 1 : 0).source,                         \
     (cur).start = (n) ? YYRHSLOC(rhs, 1).start : YYRHSLOC(rhs, 0).end,        \
     (cur).end = YYRHSLOC(rhs, n).end)
#define YYMAXDEPTH 4000
#include <string.h>

#include "frontend/tree.h"

#define push(list, x) vec_push(p->arena, &(list), x)

int model_lex(MODEL_STYPE *val, Span *at, void *scanner);
static void model_error(Span *at, void *scanner, ModelParser *p,
                          const char *msg);
}

%union {
    Name name;
    Names names;
    Expr *expr;
    Exprs exprs;
    Index index;
    Indexes indexes;
    Field field;
    Fields fields;
    Axes axes;
    TypeExpr type;
    Binding binding;
    Bindings bindings;
    Target target;
    Targets targets;
    Stmt *stmt;
    Stmts stmts;
    RuleLine rule;
    RulesDecl *rules;
    Fn *fn;
    struct { Exprs args; Fields named; } args;
}

%token T_END "end of line" YYEOF 0 "end of file"
%token <name> T_NAME "a name" T_RULE "a rule" T_REDUCER "a reducer" T_STRING "a string"
%token <name> T_MODEL "model" T_INCLUDE "include" T_SIZES "sizes" T_OPTIONS "options"
%token <name> T_CONFIG "config" T_RULES "rules" T_MESH "mesh" T_TRAIN "train"
%token <name> T_LET "let" T_FN "fn" T_ALIAS "alias" T_PARAM "param" T_INIT "init" T_SHARD "shard"
%token <name> T_IF "if" T_ELSE "else" T_REPEAT "repeat" T_REMAT "remat" T_RETURN "return"
%token <name> T_INPUT "input" T_STATE "state" T_BACKWARD "backward" T_NONE "_" T_P "P"
%token T_NUMBER "a number"
%token T_ARROW "->" T_REST ".." T_CONCAT "++" T_POWER "**"
%token T_EQ "==" T_NE "!=" T_LE "<=" T_GE ">=" T_AND "&&" T_OR "||"

%type <name> word base key dim
%type <names> names axis_list
%type <expr> expr primary if_expr else_expr value struct_value opt_axes opt_init placement
%type <exprs> exprs
%type <index> index
%type <indexes> indexes index_list
%type <field> field size
%type <fields> fields sizes named_args
%type <axes> tuple dims dim_list mesh_dims
%type <type> type dims_of_type
%type <binding> binding
%type <bindings> bindings binding_list
%type <target> target
%type <targets> targets
%type <stmt> stmt if_stmt
%type <stmts> stmts block else
%type <rules> rule_lines
%type <fn> result
%type <stmt> opt_remat returned
%type <args> args

%precedence REDUCE
%left "||"
%left "&&"
%nonassoc "==" "!=" '<' '>' "<=" ">="
%left "++"
%left '+' '-'
%left '*' '/'
%precedence UNARY
%right "**"

%%

program: items ;

items: %empty
    | items item
    | items T_END
    | items error T_END
    ;

item: "model" word   { add_model(p, $2); }
    | "include" T_STRING { if (p->include) p->include(p, $2); }
    | "sizes" '{' sizes '}'
    {
        for (int i = 0; i < $3.n; i++)
            push(p->program->sizes, $3.at[i]);
    }
    | "options" '{' fields '}'
    {
        for (int i = 0; i < $3.n; i++)
            push(p->program->options, $3.at[i]);
    }
    | "let" T_NAME '=' value { push(p->program->lets, ((Let){$2, $4})); }
    | "fn" T_NAME '(' bindings ')' result block
    {
        Fn *fn = $6;
        fn->name = $2;
        fn->params = $4;
        fn->body = $7;
        fn->at = @$;
        take_backward(fn);
        push(p->program->fns, fn);
    }
    | "fn" error block
    | "config" word base '{' fields '}'
    { push(p->program->configs, ((Config){$2, $3, $5})); }
    | "rules" word base '{' rule_lines '}'
    {
        RulesDecl *r = $5;
        r->name = $2;
        r->base = $3;
        push(p->program->rules, *r);
    }
    | "mesh" word '{' fields '}'
    { push(p->program->meshes, ((MeshDecl){$2, $4})); }
    | "train" { p->in_train = true; } block
    {
        p->in_train = false;
        add_train(p, @$, $3);
    }
    | "sizes" '{' sizes error '}'
    | "options" '{' fields error '}'
    | "config" word base '{' fields error '}'
    | "rules" word base '{' rule_lines error '}'
    | "mesh" word '{' fields error '}'
    ;

base: %empty       { $$ = (Name){0}; }
    | ':' word { $$ = $2; }
    ;

// Words that mean something only where an item starts are names elsewhere.
word: T_NAME | "model" | "include" | "sizes" | "options" | "config" | "rules" | "mesh" | "train" ;

sizes: %empty            { $$ = (Fields){0}; }
    | sizes size         { $$ = $1; push($$, $2); }
    | sizes T_END
    | sizes error T_END  { yyerrok; }
    ;

size: word         { $$ = (Field){$1, NULL}; }
    | word '=' expr { $$ = (Field){$1, $3}; }
    ;

fields: %empty           { $$ = (Fields){0}; }
    | fields field       { $$ = $1; push($$, $2); }
    | fields T_END
    | fields error T_END { yyerrok; }
    ;

field: key '=' value { $$ = (Field){$1, $3}; } ;

key: word
    | key '.' word { $$ = name_join(p, @$, $1, $3); }
    ;

value: expr | struct_value ;

struct_value: T_NAME '{' fields '}' { $$ = expr_struct(p, @$, $1, $3); }
    | T_NAME '{' fields error '}'   { $$ = expr_struct(p, @$, $1, $3); }
    ;

rule_lines: %empty { $$ = arena_new(p->arena, RulesDecl, 1); }
    | rule_lines T_RULE "->" axis_list
    {
        $$ = $1;
        push($$->lines, ((RuleLine){$2, $4}));
    }
    | rule_lines "alias" word '=' word
    {
        $$ = $1;
        push($$->aliases, ((Alias){$3, $5}));
    }
    | rule_lines T_END
    | rule_lines error T_END { yyerrok; }
    ;

axis_list: %empty { $$ = (Names){0}; }
    | names
    ;

names: word          { $$ = (Names){0}; push($$, $1); }
    | names ',' word { $$ = $1; push($$, $3); }
    ;

bindings: %empty { $$ = (Bindings){0}; }
    | binding_list
    | binding_list ','
    ;

binding_list: binding          { $$ = (Bindings){0}; push($$, $1); }
    | binding_list ',' binding { $$ = $1; push($$, $3); }
    ;

binding: word ':' type        { $$ = (Binding){.name = $1, .type = $3}; }
    | word ':' type '=' expr   { $$ = (Binding){$1, $3, false, $5}; }
    | word                     { $$ = (Binding){.name = $1, .is_known = true}; }
    | word '=' expr            { $$ = (Binding){$1, {.at = @1}, true, $3}; }
    ;

result: %empty { $$ = arena_new(p->arena, Fn, 1); }
    | "->" type
    {
        $$ = arena_new(p->arena, Fn, 1);
        $$->has_result = true;
        $$->result = $2;
    }
    | "->" T_NAME ':' type
    {
        $$ = arena_new(p->arena, Fn, 1);
        $$->has_result = true;
        $$->result_name = $2;
        $$->result = $4;
    }
    ;

type: T_NAME { $$ = (TypeExpr){.dtype = $1, .at = @$}; }
    | "fn"   { $$ = (TypeExpr){.is_fn = true, .at = @$}; }
    | '[' dims_of_type ']'
    {
        $$ = $2;
        $$.at = @$;
    }
    | T_NAME '[' dims_of_type ']'
    {
        $$ = $3;
        $$.dtype = $1;
        $$.at = @$;
    }
    ;

dims_of_type: %empty { $$ = (TypeExpr){.has_dims = true}; }
    | ".."           { $$ = (TypeExpr){.has_dims = true, .has_rest = true}; }
    | exprs          { $$ = (TypeExpr){.has_dims = true, .dim = $1}; }
    | ".." ',' exprs
    { $$ = (TypeExpr){.has_dims = true, .has_rest = true, .dim = $3}; }
    ;

block: '{' stmts '}'        { $$ = $2; }
    | '{' stmts error '}'   { $$ = $2; }
    ;

stmts: %empty           { $$ = (Stmts){0}; }
    | stmts stmt        { $$ = $1; push($$, $2); }
    | stmts T_END
    | stmts error T_END { yyerrok; }
    ;

stmt: targets '=' expr
    {
        $$ = stmt_new(p, STMT_ASSIGN, @$);
        $$->targets = $1;
        $$->value = $3;
    }
    | "param" names ':' type opt_axes opt_init
    {
        $$ = stmt_new(p, STMT_PARAM, @$);
        $$->names = $2;
        $$->type = $4;
        $$->axes = $5;
        $$->value = $6;
    }
    | "shard" names '@' placement
    {
        $$ = stmt_new(p, STMT_SHARD, @$);
        $$->names = $2;
        $$->value = $4;
    }
    | if_stmt
    | "repeat" word ':' expr opt_remat block
    {
        $$ = $5;
        $$->at = @$;
        push($$->names, $2);
        $$->value = $4;
        $$->body = $6;
    }
    | "return" returned
    {
        $$ = $2;
        $$->at = @$;
    }
    | "state" names ':' type opt_init
    {
        $$ = stmt_new(p, STMT_STATE, @$);
        $$->names = $2;
        $$->type = $4;
        $$->value = $5;
    }
    | "backward" word block
    {
        $$ = stmt_new(p, STMT_BACKWARD, @$);
        push($$->names, $2);
        $$->body = $3;
    }
    | "input" names ':' type
    {
        $$ = stmt_new(p, STMT_INPUT, @$);
        $$->names = $2;
        $$->type = $4;
        if (!p->in_train)
            syntax_error(p, @$, "input belongs in train; a function's inputs are its parameters");
    }
    ;

returned: expr { $$ = return_push(p, stmt_new(p, STMT_RETURN, @$), NULL, $1); }
    | '[' indexes ']' expr
    { $$ = return_push(p, stmt_new(p, STMT_RETURN, @$), &$2, $4); }
    | returned ',' expr                 { $$ = return_push(p, $1, NULL, $3); }
    | returned ',' '[' indexes ']' expr { $$ = return_push(p, $1, &$4, $6); }
    ;

if_stmt: "if" expr block else
    {
        $$ = stmt_new(p, STMT_IF, @$);
        $$->value = $2;
        $$->body = $3;
        $$->otherwise = $4;
    }
    | "if" error block else { $$ = stmt_new(p, STMT_IF, @$); }
    ;

else: %empty         { $$ = (Stmts){0}; }
    | "else" block   { $$ = $2; }
    | "else" if_stmt { $$ = (Stmts){0}; push($$, $2); }
    ;

targets: target          { $$ = (Targets){0}; push($$, $1); }
    | targets ',' target { $$ = $1; push($$, $3); }
    ;

target: word { $$ = (Target){.name = $1}; }
    | word '[' indexes ']'
    { $$ = (Target){$1, true, plain_indexes(p, $3)}; }
    ;

opt_remat: %empty                  { $$ = stmt_new(p, STMT_REPEAT, @$); }
    | "remat" T_NAME               { $$ = repeat_new(p, $2, (Names){0}); }
    | "remat" T_NAME '(' names ')' { $$ = repeat_new(p, $2, $4); }
    ;

opt_axes: %empty    { $$ = NULL; }
    | '@' placement { $$ = $2; }
    ;

opt_init: %empty  { $$ = NULL; }
    | "init" expr { $$ = $2; }
    ;

placement: word                { $$ = expr_name(p, $1); }
    | '(' dims ')'             { $$ = expr_axes(p, @$, $2, false); }
    | "P" '(' mesh_dims ')'    { $$ = expr_axes(p, @$, $3, true); }
    ;

dims: %empty { $$ = (Axes){0}; }
    | dim_list
    | dim_list ','
    ;

dim_list: dim          { $$ = (Axes){0}; axes_push(p, &$$, $1); }
    | dim_list ',' dim { $$ = $1; axes_push(p, &$$, $3); }
    ;

dim: word | "_" ;

mesh_dims: %empty                { $$ = (Axes){0}; }
    | dim                        { $$ = (Axes){0}; axes_push(p, &$$, $1); }
    | '(' names ')'              { $$ = (Axes){0}; axes_push_list(p, &$$, $2); }
    | mesh_dims ',' dim          { $$ = $1; axes_push(p, &$$, $3); }
    | mesh_dims ',' '(' names ')' { $$ = $1; axes_push_list(p, &$$, $4); }
    ;

expr: primary
    | '-' expr %prec UNARY { $$ = expr_unary(p, @$, "-", $2); }
    | '!' expr %prec UNARY { $$ = expr_unary(p, @$, "!", $2); }
    | expr "**" expr { $$ = expr_binary(p, @$, "**", $1, $3); }
    | expr '*' expr  { $$ = expr_binary(p, @$, "*", $1, $3); }
    | expr '/' expr  { $$ = expr_binary(p, @$, "/", $1, $3); }
    | expr '+' expr  { $$ = expr_binary(p, @$, "+", $1, $3); }
    | expr '-' expr  { $$ = expr_binary(p, @$, "-", $1, $3); }
    | expr "++" expr { $$ = expr_binary(p, @$, "++", $1, $3); }
    | expr "==" expr { $$ = expr_binary(p, @$, "==", $1, $3); }
    | expr "!=" expr { $$ = expr_binary(p, @$, "!=", $1, $3); }
    | expr '<' expr  { $$ = expr_binary(p, @$, "<", $1, $3); }
    | expr '>' expr  { $$ = expr_binary(p, @$, ">", $1, $3); }
    | expr "<=" expr { $$ = expr_binary(p, @$, "<=", $1, $3); }
    | expr ">=" expr { $$ = expr_binary(p, @$, ">=", $1, $3); }
    | expr "&&" expr { $$ = expr_binary(p, @$, "&&", $1, $3); }
    | expr "||" expr { $$ = expr_binary(p, @$, "||", $1, $3); }
    | T_REDUCER '(' indexes ')' expr %prec REDUCE
    { $$ = expr_reduce(p, @$, $1, plain_indexes(p, $3), $5); }
    ;

primary: T_NUMBER              { $$ = expr_number(p, @$); }
    | word                     { $$ = expr_name(p, $1); }
    | primary '.' word         { $$ = expr_field(p, @$, $1, $3); }
    | primary '(' args ')'     { $$ = expr_call(p, @$, $1, $3.args, $3.named); }
    | primary '[' indexes ']'  { $$ = expr_index(p, @$, $1, $3); }
    | '(' expr ')'             { $$ = $2; }
    | '(' tuple ')'            { $$ = expr_axes(p, @$, $2, false); }
    | "P" '(' mesh_dims ')'    { $$ = expr_axes(p, @$, $3, true); }
    | if_expr
    ;

// A tuple has a comma; (x) is an expression.
tuple: dim ',' dims
    {
        $$ = (Axes){0};
        axes_push(p, &$$, $1);
        for (int i = 0; i < $3.dim.n; i++)
            push($$.dim, $3.dim.at[i]);
    }
    ;

if_expr: "if" expr '{' expr '}' "else" else_expr { $$ = expr_if(p, @$, $2, $4, $7); } ;

else_expr: '{' expr '}' { $$ = $2; }
    | if_expr
    ;

args: %empty             { $$.args = (Exprs){0}; $$.named = (Fields){0}; }
    | exprs              { $$.args = $1; $$.named = (Fields){0}; }
    | named_args         { $$.args = (Exprs){0}; $$.named = $1; }
    | exprs ',' named_args { $$.args = $1; $$.named = $3; }
    ;

exprs: expr          { $$ = (Exprs){0}; push($$, $1); }
    | exprs ',' expr { $$ = $1; push($$, $3); }
    ;

named_args: word '=' expr        { $$ = (Fields){0}; push($$, ((Field){$1, $3})); }
    | named_args word '=' expr   { $$ = $1; push($$, ((Field){$2, $4})); }
    | named_args ',' word '=' expr { $$ = $1; push($$, ((Field){$3, $5})); }
    ;

indexes: %empty { $$ = (Indexes){0}; }
    | index_list
    ;

index_list: index          { $$ = (Indexes){0}; push($$, $1); }
    | index_list ',' index { $$ = $1; push($$, $3); }
    ;

index: expr         { $$ = index_of_expr($1); }
    | ".."          { $$ = (Index){.kind = INDEX_REST, .at = @$}; }
    | "_"           { $$ = (Index){.kind = INDEX_NONE, .at = @$}; }
    | expr ':' expr { $$ = index_slice(@$, $1, $3); }
    | expr ':'      { $$ = index_slice(@$, $1, NULL); }
    | ':' expr      { $$ = index_slice(@$, NULL, $2); }
    | ':'           { $$ = index_slice(@$, NULL, NULL); }
    ;

%%

static int yyreport_syntax_error(const yypcontext_t *at, void *scanner,
                                 ModelParser *p)
{
    (void)scanner;
    yysymbol_kind_t kind[YYNTOKENS];
    const char *name[YYNTOKENS];
    int n = yypcontext_expected_tokens(at, kind, YYNTOKENS);
    for (int i = 0; i < n; i++)
        name[i] = yysymbol_name(kind[i]);
    yysymbol_kind_t got = yypcontext_token(at);
    report_unexpected(p, *yypcontext_location(at), yysymbol_name(got), name, n);
    return 0;
}

static void model_error(Span *at, void *scanner, ModelParser *p,
                          const char *msg)
{
    (void)scanner;
    (void)msg; // bison says "memory exhausted"
    too_deep(p, *at);
}

struct yy_buffer_state *model__scan_string(const char *s, void *scanner);
int model_lex_init_extra(ModelParser *p, void **scanner);
int model_lex_destroy(void *scanner);

void model_read(ModelParser *p)
{
    void *scanner;
    check_utf8(p);
    model_lex_init_extra(p, &scanner);
    model__scan_string(p->source->text, scanner);
    model_parse(scanner, p);
    model_lex_destroy(scanner);
}
