// Building the syntax tree: what the parser's actions call.
#pragma once

#include "frontend/parser.h"

Expr *expr_new(ModelParser *p, ExprKind kind, Span at);
Expr *expr_name(ModelParser *p, Name name);
Expr *expr_number(ModelParser *p, Span at);
Expr *expr_field(ModelParser *p, Span at, Expr *base, Name field);
Expr *expr_call(ModelParser *p, Span at, Expr *base, Exprs args, Fields named);
Expr *expr_index(ModelParser *p, Span at, Expr *base, Indexes index);
Expr *expr_unary(ModelParser *p, Span at, const char *op, Expr *x);
Expr *expr_binary(ModelParser *p, Span at, const char *op, Expr *x, Expr *y);
Expr *expr_reduce(ModelParser *p, Span at, Name how, Indexes index, Expr *x);
Expr *expr_if(ModelParser *p, Span at, Expr *c, Expr *yes, Expr *no);
Expr *expr_struct(ModelParser *p, Span at, Name head, Fields fields);
Expr *expr_axes(ModelParser *p, Span at, Axes axes, bool is_mesh);

Index index_of_expr(Expr *e);
Index index_slice(Span at, Expr *lo, Expr *hi);
// Errors unless each index is a name or `..`: left of `=`, after `return`.
Indexes plain_indexes(ModelParser *p, Indexes index);

Stmt *stmt_new(ModelParser *p, StmtKind kind, Span at);
Name name_join(ModelParser *p, Span at, Name a, Name b); // a.b
Stmt *repeat_new(ModelParser *p, Name policy, Names saved);
// One more value of a `return`; index: NULL if it names none.
Stmt *return_push(ModelParser *p, Stmt *s, const Indexes *index, Expr *value);
void axes_push(ModelParser *p, Axes *axes, Name name);
void axes_push_list(ModelParser *p, Axes *axes, Names names);

void add_model(ModelParser *p, Name name);
void add_train(ModelParser *p, Span at, Stmts body);
// A `backward` at the end of the body is the function's.
void take_backward(Fn *fn);
