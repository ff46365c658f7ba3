// The syntax tree of the model language: what the parser builds, what fmt
// prints, what elaboration walks. Nothing here is resolved or checked.
#pragma once

#include "base/diag.h"
#include "base/vec.h"

typedef struct Name {
    const char *s;
    Span at;
} Name;

typedef VEC(Name) Names;

typedef struct Expr Expr;
typedef struct Stmt Stmt;
enum {
    MAX_EXPR_DEPTH = 400,
};

typedef VEC(Expr *) Exprs;
typedef VEC(Stmt *) Stmts;

typedef enum ExprKind {
    EXPR_NUMBER, // 3, 1e-6
    EXPR_NAME,   // emb, x, top2, true
    EXPR_FIELD,  // rotation.factor
    EXPR_CALL,   // f(a, b); also dtype casts such as f32(x)
    EXPR_INDEX,  // x[b, s, 0 : nope]
    EXPR_UNARY,  // -x, !x
    EXPR_BINARY, // + - * / ** ++ == != < <= > >= && ||
    EXPR_REDUCE, // sum(b, s) x, max(k) x, min(k) x, mean(e) x
    EXPR_IF,     // if c { a } else { b }
    EXPR_STRUCT, // yarn { theta = 10000  factor = 40 }
    EXPR_AXES,   // (activation_batch, _, activation_embed), P(fsdp, _)
} ExprKind;

typedef enum IndexKind {
    INDEX_NAME,  // b         a bare name is an index, never a size
    INDEX_REST,  // ..        any leading dimensions
    INDEX_NONE,  // _         a dimension of size 1 that broadcasts
    INDEX_SLICE, // lo : hi   either may be left out
    INDEX_EXPR,  // t[b, s]   gather: an integer tensor in an index position
} IndexKind;

typedef struct Index {
    IndexKind kind;
    Span at;
    const char *name; // INDEX_NAME
    Expr *lo, *hi;    // INDEX_SLICE (NULL if left out); lo: INDEX_EXPR
} Index;

typedef VEC(Index) Indexes;

typedef struct Field { // of a struct literal, a config, options
    Name name;
    Expr *value; // NULL in `sizes` if it has no default
} Field;

typedef VEC(Field) Fields;

// One logical (or, in P(...), mesh) name a dimension. None is the name "_".
typedef struct Axes {
    bool is_mesh; // P(...): mesh axes; a dimension may have several
    VEC(Names) dim;
    Span at;
} Axes;

struct Expr {
    ExprKind kind;
    Span at;
    double number;
    bool is_int;      // NUMBER: written without point and exponent
    const char *name; // NAME, FIELD (the field), STRUCT (its head), REDUCE;
                      // UNARY and BINARY: the operator as written
    Expr *base;       // FIELD, CALL (the function), INDEX; UNARY, REDUCE: operand
    Exprs args;       // CALL; BINARY: two; IF: condition, then, else
    Indexes index;    // INDEX; REDUCE: the reduced indices (INDEX_NAME)
    Fields fields;    // STRUCT; CALL: named arguments, after those in args
    Axes axes;        // AXES
    int depth;        // of the tree, at most MAX_EXPR_DEPTH
};

// f32[.., d]; `fn` if is_fn; no brackets: has_dims is false
typedef struct TypeExpr {
    Name dtype; // f32, bf16, i32, bool; empty: [b, s, emb] alone (dtype option)
    bool is_fn;
    bool has_dims;
    bool has_rest; // starts with ..
    Exprs dim;     // sizes or, for a fn's parameters, names bound by the call
    Span at;
} TypeExpr;

typedef struct Binding { // x: [b, s, emb];  b1 = 0.9
    Name name;
    TypeExpr type;
    bool is_known;   // no type: a value known at compile time
    Expr *otherwise; // where the call does not give it; or NULL
} Binding;

typedef VEC(Binding) Bindings;

typedef enum StmtKind {
    STMT_ASSIGN, // y[b, s] = e;  a, b = e;  stream = (x, y)
    STMT_PARAM,  // param a, b: f32[x, y] @ (p, q) init normal(1.0)
    STMT_SHARD,  // shard a, b @ (x, y)  or  shard a @ stream
    STMT_IF,
    STMT_REPEAT, // repeat moe: moe_layers remat full { ... }
    STMT_RETURN, // return [b, s] e
    STMT_INPUT,  // input a, b: i32[batch, seq]   (in train)
    STMT_STATE,  // state m, v: f32[..] init zeros   (of an optimizer)
    STMT_BACKWARD, // backward dy { ... }   (the last of a function)
} StmtKind;

typedef struct Target {
    Name name;
    bool has_index;
    Indexes index;
} Target;

typedef VEC(Target) Targets;

struct Stmt {
    StmtKind kind;
    Span at;
    Targets targets;     // ASSIGN; RETURN: unnamed, for the index lists
    Expr *value;         // ASSIGN; SHARD: the axes; PARAM, STATE: init or NULL;
                         // IF: the condition; REPEAT: the count; RETURN: the
                         // first
    Exprs more;          // RETURN: the others
    Names names;         // PARAM, SHARD, INPUT, STATE: declared or named;
                         // REPEAT, BACKWARD: one
    TypeExpr type;       // PARAM, INPUT, STATE
    Expr *axes;          // PARAM: EXPR_AXES or NULL
    const char *remat;   // REPEAT: "full", "none", "save(a, b)", or NULL
    Name policy;         // REPEAT: the word of remat
    Names saved;         // REPEAT: the names in its parentheses
    Stmts body;          // IF: then; REPEAT, BACKWARD
    Stmts otherwise;     // IF
};

typedef struct Let {
    Name name;
    Expr *value;
} Let;

typedef struct Fn {
    Name name;
    Bindings params;
    Name result_name; // `-> logits: f32[...]`; empty otherwise
    bool has_result;
    TypeExpr result;
    Stmts body;
    const Stmt *backward; // or NULL
    Span at;
} Fn;

typedef struct Config {
    Name name;
    Name base; // `config a : b`; empty if none
    Fields fields; // dotted names are spelled as written: "rotation.mscale"
} Config;

typedef struct RuleLine { // activation_batch -> data, fsdp
    Name logical;
    Names axes; // empty: replicated
} RuleLine;

typedef struct Alias { // alias attn_batch = activation_batch
    Name name;
    Name means;
} Alias;

typedef struct RulesDecl {
    Name name;
    Name base; // `rules a : b`
    VEC(RuleLine) lines;
    VEC(Alias) aliases;
} RulesDecl;

typedef struct MeshDecl {
    Name name;
    Fields axes; // fsdp = 2
} MeshDecl;

typedef struct Train {
    bool present;
    Stmts body;
    Span at;
} Train;

// A file and all it includes, in the order they were read.
typedef struct Program {
    Arena *arena;
    Name model;
    Fields sizes;
    Fields options;
    VEC(Let) lets;
    VEC(Fn *) fns;
    VEC(Config) configs;
    VEC(RulesDecl) rules;
    VEC(MeshDecl) meshes;
    Train train;
} Program;
