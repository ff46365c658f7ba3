// State of the IR text parser, shared by lex.l and parse.y.
#pragma once

#include "ir/graph.h"

typedef struct ValueName {
    const char *name;
    Op *op;
} ValueName;

// A list being read: of numbers (an attribute) or of items (a split).
typedef struct Numbers {
    int n;
    int64_t i[MAX_RANK];
} Numbers;

typedef struct Parser {
    Arena *arena;
    Diag *diag;
    const Source *source;
    int offset; // of the next token
    Mesh mesh;
    Module *module;
    Func *func;
    VEC(ValueName) scope; // of the function
    Op *op;               // being read
    const char *op_name;
    VEC(Op *) operands;
    VEC(double) floats;
    VEC(int64_t) ints;
    AtomSet used; // atoms of the type being read
} Parser;

#include "ir_parse.tab.h"

int ir_lex(IR_STYPE *value, IR_LTYPE *at, void *scanner);
int ir_lex_init_extra(Parser *p, void **scanner);
int ir_lex_destroy(void *scanner);
