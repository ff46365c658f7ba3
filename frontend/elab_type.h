// The declared types of one function, matched against one call.
#pragma once

#include "frontend/elab.h"

typedef struct Bound {
    const char *name; // as declared: "f", "nope + rope"
    int label;        // the caller's index; -1: none
    const char *size; // how the caller writes the size
    int64_t value;
} Bound;

typedef struct Signature {
    VEC(Bound) bound;
    bool has_rest;
    int nrest;
    Dim rest[MAX_RANK];
} Signature;

// Matches a value with a declared type, in the function's scope; `what` is
// "x of rms_norm".
bool signature_bind(Elab *e, Signature *s, const TypeExpr *t, const Value *v,
                    const char *what, Span at);
// The same for the result, which gets the caller's indices.
bool signature_result(Elab *e, Signature *s, const TypeExpr *t, Value *v,
                      const char *what, Span at);

// elab_fn.c: runs the function's body in `scope`, which has its parameters.
Value inline_body(Elab *e, const Fn *fn, Scope *scope, Signature *s);
// elab_custom.c: the same for a function with a backward: becomes a `call`.
Value call_custom(Elab *e, const Fn *fn, Scope *scope, Signature *s, Span at);
