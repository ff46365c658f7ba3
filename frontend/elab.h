// Elaboration: from the syntax tree to a GLOBAL module. Shared by elab_*.c.
//
// Functions are inlined where they are called, a `repeat` becomes an IR
// function and a scan. A value is known at compile time (a number, a truth, a
// word, a list of axes) or a tensor, which is an op of the function that is
// being built. After an error the value is VALUE_BAD, which every consumer
// passes on in silence, so that each fault is reported once.
#pragma once

#include "frontend/frontend.h"
#include "frontend/rules.h"

enum {
    MAX_LABELS = 64, // indices of one formula
    MAX_CALLS = 64,  // depth of calls
    MAX_CHAIN = 32,  // factors of one product
};

typedef enum ValueKind {
    VALUE_BAD,
    VALUE_NUMBER,
    VALUE_BOOL,   // number is 0 or 1
    VALUE_SYMBOL, // the word of an option, or the name of a function
    VALUE_AXES,
    VALUE_TENSOR,
} ValueKind;

typedef struct Dim {
    int label;        // of the formula; -1: known by its place only
    bool stretch;     // `_`: not in the op, takes the size of the other side
    const char *size; // as it is written, "nope + rope"; NULL: not known
} Dim;

typedef struct Value {
    ValueKind kind;
    double number;
    const char *symbol;
    const Axes *axes;
    Op *op;
    int rank; // that of op, and the stretched dimensions
    Dim dim[MAX_RANK];
    bool is_weight;   // cast to the option `dtype` at use
    const char *name; // for messages; NULL: an intermediate value
} Value;

typedef struct Setting { // a size, an option, a field of an option, a let
    enum { SETTING_SIZE, SETTING_OPTION, SETTING_LET } kind;
    Name name;
    const Expr *first; // as declared; NULL: a size without a value
    const Expr *value; // after configs and --set
    enum { SETTING_NEW, SETTING_BUSY, SETTING_DONE } state;
    Value cached;
} Setting;

typedef struct Var {
    const char *name;
    Value value;
} Var;

typedef struct Scope {
    struct Scope *outer; // of a repeat's body; NULL: a function sees no caller
    Func *func;          // the IR function its tensors belong to
    VEC(Var) vars;
} Scope;

typedef uint64_t Labels; // a set of them

typedef struct Label {
    const char *name;
    int64_t size; // 0: not known yet
    const char *size_name;
    const char *owner; // the tensor that gave the size
} Label;

// The indices of one statement. Their order is that of the left side, then of
// first appearance; every intermediate result has its dimensions in it.
typedef struct Formula {
    int nlabel;
    Label label[MAX_LABELS];
    int rest;  // the first of the MAX_RANK labels `..` stands for; -1: none
    int nrest; // dimensions it stands for; -1: not known yet
    bool has_left;
    const Expr *right;
    Labels summed; // by products inside others
} Formula;

// What an expression must not sum: `hard` are the left side and reducers'
// indices, `soft` are those of the other operands around it.
typedef struct Keep {
    Labels hard, soft;
} Keep;

typedef struct Frame { // a call that is being inlined
    const Fn *fn;
    bool returned;
    Span at; // of the return
    Value result;
    VEC(Value) more; // results of a backward, after the first
    bool is_backward;
} Frame;

typedef struct Link { // a value of the entry, and its parameter in a body
    Op *outer, *inner;
} Link;

typedef VEC(Op *) OpList;

typedef struct Repeat {
    const char *name;
    const char *logical; // of the dimension over the layers
    const char *size;    // as written
    int64_t n;
    Scope *outer;
    Frame *frame; // the call the loop stands in
    OpList carried; // the body's parameters
    VEC(Link) invariants;
    VEC(Link) stacked;
} Repeat;

typedef struct State { // of an optimizer, for one weight
    const char *name;
    Op *op;
    Value next;
} State;

typedef VEC(State) StateList;

typedef struct Update { // of the weight that the optimizer is mapped over
    const Fn *fn;
    Op *weight;
    StateList states;
} Update;

typedef enum TrainLine { // names that train does not compute
    LINE_clip,
    LINE_optimizer,
    LINE_rate,
    LINE_micro_batches,
    NLINE,
} TrainLine;

typedef struct Weight {
    const char *path;
    Span at;
} Weight;

typedef struct Elab {
    Arena *arena;
    const Program *program;
    const BuildOptions *options;
    Diag *diag;
    VEC(const char *) seen; // messages that were given
    FILE *explain;          // NULL: no
    VEC(Setting *) settings;
    bool missing_reported;
    bool words_allowed; // a name nobody knows is an option's word

    Module *module;
    Func *main, *func; // func: what is being built
    int ninput;
    Scope *scope;
    Formula *formula;
    Frame *frame;
    Repeat *repeat;
    Update *update;  // NULL: not in an optimizer
    bool is_training; // the statements of train are run
    bool is_custom;  // in a function with a backward
    const Stmt *line[NLINE];
    int64_t parts; // micro-batches that the batch is cut into
    bool is_part;  // `main` is the loss of one of them
    Scope *train;
    VEC(const TypeExpr *) inputs;
    Op *total, *count; // what the loss is the quotient of; NULL: it is none
    int depth;
    bool axis_named[MAX_AXES]; // of the mesh, by some P(...)
    VEC(Name) outputs;         // names given, and where
    VEC(Weight) weights;
    VEC(Link) casts; // weights, cast
    Span last_at;    // place of the last op, to find it once
    const char *last_place;
} Elab;

// elab.c: reporting. elab_fail reports a message at a place once, however
// often a function is inlined, and returns VALUE_BAD.
Value elab_fail(Elab *e, Span at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
// True the first time it is asked about `what`.
bool elab_first(Elab *e, const char *what);

// Elaborates a program; prints what the rules did if explain is not NULL.
Module *elab_run(Arena *a, const Program *p, const BuildOptions *o,
                 FILE *explain, Diag *d);
void elab_output(Elab *e, Name name, Op *op, bool first);
// The program with its batch cut into whole->parts: `main` is the loss of one,
// which takes the count of all as its last param. NULL after an error.
Elab *elab_part(const Elab *whole);
// A name for a function that no other has.
const char *unique_func(Elab *e, const char *name);

// elab_train.c: the train block.
void run_train(Elab *e);
// Takes a line that names a function or the number of micro-batches.
bool train_line(Elab *e, const Stmt *s);
bool train_sets(const Program *p, const char *name);

// elab_step.c, elab_micro.c, elab_update.c: the entry `step`.
typedef struct Step {
    const Elab *whole; // the loss of the whole batch
    Elab *e;           // builds the step
    int ninput, nweight;
    Op **input, **weight; // params of the step
    Op *loss;
    Op **gradient; // by weight
} Step;
void elab_step(Elab *e);
// A param like a value of another function: its type and placement.
Op *step_param(Elab *e, const Op *like, const char *name);
// The first result of `loss`, and its gradients by the params that are weights.
Op *step_gradients(Elab *e, const Func *loss, OpList operands, Op *gradient[]);
Op *step_result(Elab *e, Op *op, int index); // of a loop or a gradient
void micro_gradients(Step *s);
void step_update(Step *s);
void step_output(Elab *e, const char *name, Op *op);

// reach.c: warns of weights that the first result of the loss does not need.
void warn_unreached(const Func *loss, Diag *d);

// suggest.c: the word that is most like a name, or NULL; and the same as
// "; did you mean `x`?", or "".
typedef VEC(const char *) Words;
const char *nearest(const char *name, const Words *known);
const char *suggest(Arena *a, const char *name, const Words *known);

// env.c: sizes, options and lets.
void env_init(Elab *e);
Setting *env_find(const Elab *e, const char *name);
Value env_value(Elab *e, Setting *s, Span at);
void env_words(Elab *e, Words *words);
// The word an option holds; NULL if there is no such option.
const char *env_word(Elab *e, const char *name);

// elab_value.c: making and asking values.
Value value_number(double x);
Value value_bool(bool x);
Value value_symbol(const char *s);
Value value_axes(const Axes *axes);
Value value_tensor(Op *op);          // BAD if op is NULL
bool value_is_whole(const Value *v); // no labels, no stretch
Labels value_labels(const Value *v);
int64_t value_dim(const Value *v, int i); // 1 if stretched
// A number that is a whole one in [lo, hi]; else an error about `what`.
bool value_int(Elab *e, Value v, Span at, const char *what, int64_t lo,
               int64_t hi, int64_t *out);
const char *value_name(const Value *v); // "this value" if it has none
const char *dim_text(Elab *e, const Value *v, int i); // "emb = 96"
const char *expr_text(Elab *e, const Expr *x);
const char *kind_text(const Value *v); // "a number"

// elab_emit.c: ops. All return NULL after an error.
Op *emit(Elab *e, Span at, OpCode code, int n, Op *const operand[]);
bool emit_done(Elab *e, Op *op); // infers the type
Op *emit_unary(Elab *e, Span at, OpCode code, Op *x);
Op *emit_binary(Elab *e, Span at, OpCode code, Op *x, Op *y);
Op *emit_constant(Elab *e, Span at, const Type *t, double x);
Op *emit_convert(Elab *e, Span at, Op *x, DType to);
Op *emit_iota(Elab *e, Span at, int64_t n);
Op *emit_reshape(Elab *e, Span at, Op *x, const Type *t);
Op *emit_slice(Elab *e, Span at, Op *x, const int64_t lo[], const int64_t hi[]);
Op *emit_reduce(Elab *e, Span at, OpCode code, Op *x, int n,
                const int64_t dims[]);
Op *emit_shard(Elab *e, Span at, Op *x, const Sharding *s);
// Dimension i of the result is dimension from[i] of x, or new (-1).
Op *emit_arrange(Elab *e, Span at, Op *x, int rank, const int from[],
                 const int64_t dim[]);
Op *emit_param(Elab *e, Func *f, Span at, int position, const char *name,
               const Type *t);
void emit_order_params(Func *f, int n, Op *const order[]);

// elab_scope.c: names.
Value scope_name(Elab *e, const char *name, Span at);
const Value *scope_find(Elab *e, const char *name); // NULL: no such variable
void scope_set(Elab *e, const char *name, Value v);
const Fn *program_fn(const Program *p, const char *name);

// elab_label.c: the indices of a formula.
void formula_begin(Elab *e, Formula *f, const Indexes *left, const Expr *x,
                   Labels *hard);
Labels formula_labels(Elab *e, const Expr *x);
int label_find(Elab *e, const char *name, Span at); // adds it; -1: too many
Labels label_rest(Elab *e);
const char *label_name(const Elab *e, int label);
bool label_bind(Elab *e, int label, int64_t size, const char *size_name,
                const char *owner, Span at);
// Binds a label to the size of a variable that it stands on further right.
void label_seek(Elab *e, const Expr *x, int label);
bool label_bind_rest(Elab *e, int n, const char *owner, Span at);

// elab_align.c: values of different shapes meet.
bool align(Elab *e, Span at, Value *a, Value *b);
bool has_place_only(const Value *v);      // some dimension has no index
Value realize(Elab *e, Span at, Value v); // stretched dimensions get size 1
Value reorder(Elab *e, Span at, Value v, Value *to, bool by_place);
Value elementwise(Elab *e, Span at, OpCode code, Value a, Value b);
Value use(Elab *e, Span at, Value v); // casts a weight
Value constant_like(Elab *e, Span at, Value number, const Value *like);

// elab_left.c: gives a statement's value the order of its left side.
Value arrange_left(Elab *e, const Indexes *left, Value v, Span at);

// elab_expr.c, elab_index.c, elab_gather.c, elab_product.c,
// elab_binary.c: expressions.
Value eval(Elab *e, const Expr *x, Keep keep);
Value eval_scalar(Elab *e, const Expr *x); // at compile time
// A statement's right side: indices are gone in the result.
Value eval_formula(Elab *e, const Indexes *left, const Expr *x);
Value eval_index(Elab *e, const Expr *x, Keep keep);
Value eval_gather(Elab *e, Span at, Value table, int dim, Value ids);
Value eval_product(Elab *e, const Expr *x, Keep keep);
Value eval_binary(Elab *e, const Expr *x, Keep keep);
Value eval_call(Elab *e, const Expr *x, Keep keep);
Value reduce_labels(Elab *e, Span at, OpCode code, Value v, Labels gone);

// elab_builtin.c
bool is_builtin(const char *name);
Value eval_builtin(Elab *e, const char *name, const Expr *call, Keep keep);
void builtin_words(Elab *e, Words *words);
bool check_args(Elab *e, const Expr *call, const char *name, int n);

// elab_args.c: the arguments of a call. The first are `lead`.
bool bind_args(Elab *e, const Fn *fn, int nlead, const Value lead[],
               const Expr *call, Keep keep, Value arg[], Span at[]);

// elab_fn.c: calls of functions of the program, and the types they declare.
Value call_fn(Elab *e, const Fn *fn, const Expr *call, Keep keep);
// Calls with the arguments `lead` before those of `call`.
Value call_with(Elab *e, const Fn *fn, int nlead, const Value lead[],
                const Expr *call, Keep keep);
// The function that is called so: by a parameter, an option or its name.
const Fn *called_fn(Elab *e, const Expr *x);
bool has_state(const Fn *fn);
bool type_of(Elab *e, const TypeExpr *t, Type *type, const char *size[]);
Value call_entry(Elab *e, const Fn *fn);
void declare_input(Elab *e, const Name *name, const TypeExpr *t);

// elab_stmt.c, elab_param.c, elab_repeat.c: statements.
void run_stmts(Elab *e, const Stmts *stmts);
void run_param(Elab *e, const Stmt *s);
void set_init(Elab *e, Op *op, const Expr *x); // x: NULL for none
void run_repeat(Elab *e, const Stmt *s);
// elab_state.c
void run_state(Elab *e, const Stmt *s);
void end_states(Elab *e);

// elab_remat.c: what `remat` says is known, and what it saves is there.
void check_policy(Elab *e, const Stmt *repeat);
void check_saved(Elab *e, const Stmt *repeat, const Func *body);

Value repeat_capture(Elab *e, const char *name, Value v);

// place.c: the placement of a tensor by logical names or mesh axes.
typedef struct Placement {
    const char *what; // the tensor's name
    const Type *type;
    const char *const *size; // how each dimension's size is written
    const char *front; // logical name of a stack's first dimension, or NULL
    bool is_stack;     // the first dimension is not in axes
    const Axes *axes;
    Span at;
    bool is_weight;
} Placement;
bool place(Elab *e, const Placement *p, Sharding *out);
void run_shard(Elab *e, const Stmt *s);
