// The graph: ops in topological order, each with one result.
//
// A module is in one of three forms:
//   GLOBAL   as written; only params and `shard` ops have a sharding
//   SHARDED  every value has a sharding; a change of it is a reshard or a
//            collective with global types
//   LOCAL    the types are those of one device; no shardings
//
// Invariant (module_verify checks it): an operand is defined before its user,
// so a walk over f->ops from first to last sees definitions before uses.
// Passes that change the structure build a new module; passes that only
// annotate write into op->sharding.
#pragma once

#include "base/diag.h"
#include "base/vec.h"
#include "ir/sharding.h"

typedef enum OpCode {
#define OP(name) OP_##name,
#include "ir/ops.def"
    NOP,
} OpCode;

typedef enum AttrKey {
#define ATTR(name, kind) A_##name,
#include "ir/attrs.def"
    NATTR,
    A_END = NATTR, // ends a list of keys
} AttrKey;

typedef enum AttrKind {
    ATTR_INT,
    ATTR_INTS,
    ATTR_FLOATS,
    ATTR_STR,
    ATTR_SPLIT,
} AttrKind;

typedef struct Attr {
    AttrKey key;
    int n; // of ints or floats
    union {
        const int64_t *ints;
        const double *floats;
        const char *str;
        const Split *split;
    };
} Attr;

typedef enum Form {
    FORM_global,
    FORM_sharded,
    FORM_local,
    NFORM,
} Form;

typedef struct Module Module;
typedef struct Func Func;

typedef struct Op {
    OpCode code;
    int id; // position in func->ops, the index of side tables
    int noperand;
    struct Op **operand;
    VEC(Attr) attrs;
    const char *name; // without %, unique in the function; NULL: by number
    Type type;
    Sharding sharding; // see Form
    Span at;           // where the source made it, for messages
    const char *place; // "file:line:col" of the model; NULL if unknown
} Op;

typedef struct Func {
    Module *module;
    const char *name; // without @
    VEC(Op *) ops;    // params come first, in order
    int nparam;
    VEC(Op *) results;
    VEC(const char *) result_names; // of outputs: "loss"; may be empty
} Func;

typedef struct Module {
    Arena *arena;
    Mesh mesh;
    Form form;
    VEC(Func *) funcs; // callees before callers; the last is the entry
    int next_id;       // of collectives; the next is next_id + 1
} Module;

extern const char *const form_name[];

Module *module_new(Arena *a, const Mesh *mesh, Form form);
Func *module_entry(const Module *m);
Func *module_find(const Module *m, const char *name); // NULL if none
Func *func_new(Module *m, const char *name);

// Appends an op with no type yet. A param must come before other ops.
Op *func_add(Func *f, OpCode code, int noperand, Op *const operand[]);
// Infers and sets op->type from operands and attributes; reports what is wrong.
bool op_infer(const Func *f, Op *op, Diag *d);
// Appends a copy: attributes, name, type, sharding, place.
Op *func_copy_op(Func *f, const Op *op, Op *const operand[]);
// A name not used in f yet: `name`, `name.2`, ...
const char *func_unique_name(const Func *f, const char *name);

// The operands of op, each replaced by to[its id].
Op **op_map_operands(Arena *a, const Op *op, Op *const to[]);

// Gives `out` the results of f, each replaced by to[its id], and their names.
void func_map_results(Func *out, const Func *f, Op *const to[]);

void op_set_int(Func *f, Op *op, AttrKey key, int64_t i);
void op_set_ints(Func *f, Op *op, AttrKey key, int n, const int64_t i[]);
void op_set_floats(Func *f, Op *op, AttrKey key, int n, const double x[]);
void op_set_str(Func *f, Op *op, AttrKey key, const char *s);
void op_set_split(Func *f, Op *op, AttrKey key, const Split *s);
const Attr *op_attr(const Op *op, AttrKey key); // NULL if not there
int64_t op_int(const Op *op, AttrKey key, int64_t otherwise);
const char *op_str(const Op *op, AttrKey key); // NULL if not there

// Text: printing and reading a module are inverse (ir/print.c, ir/parse.y).
void module_print(const Module *m, FILE *f);
char *module_string(Arena *a, const Module *m);
Module *module_parse(Arena *a, const Source *source, Diag *d);
// Checks every invariant of the module's form; says what is wrong at the op.
bool module_verify(const Module *m, Diag *d);

extern const char *const attr_name[];
extern const AttrKind attr_kind[];
int op_find(const char *name);   // -1 if none
int attr_find(const char *name); // -1 if none

#define for_each_op(op, f)                                                     \
    for (Op **op##_p = (f)->ops.at, *op;                                       \
         op##_p < (f)->ops.at + (f)->ops.n && (op = *op##_p, true); op##_p++)
