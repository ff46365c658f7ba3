// Inside of planning: what is known of values while a function is planned.
//
// In order: fuse.c decides what is stored, seen or computed in place; group.c
// makes a nest of ops that are computed together; plan.c makes steps; place.c
// gives buffers their offsets.
#pragma once

#include "emit/plan.h"

typedef enum ValueKind {
    VALUE_open,     // not decided yet
    VALUE_view,     // of `source`
    VALUE_leaf,     // a number or an index
    VALUE_inline,   // computed in the nest of `group`
    VALUE_repeated, // computed in the nest of each user
    VALUE_stored,   // in `buffer`, row major
} ValueKind;

typedef struct Group Group;

typedef struct Edge { // a use of a value
    Group *group;     // NULL: wants memory
    bool ok;          // `view` holds: the group's loops onto the elements
    View view;
    uint32_t scope; // the loops around the use
} Edge;

typedef struct Value {
    const Op *op;
    ValueKind kind;
    struct Value *source; // view: the value it shows, not itself a view
    View view;            // view: onto source; inline, stored: from the loops
    VEC(Edge) edges;
    Group *group;
    int first_loop, nown; // reduce: its own loops in the group
    Buffer *buffer;
    Buffer **result; // loop: of each of its results
    int node; // 1 + its node in the group's nest; 0: not made yet
} Value;

// The ops that are computed in one loop nest.
struct Group {
    Value *root; // NULL: an operand, copied as it is
    int nloop;
    int nroot; // the first ones, over the stored result
    int64_t size[MAX_LOOPS];
    int nvalue;
    Value *product; // an einsum that the nest ends
};

typedef struct Frame {
    Plan *plan;
    const Func *func;
    struct Frame *outer;
    Value *value;   // by op id
    Group ***parts; // by op id: of a LOWER_parts op, one for each operand
} Frame;

// The value an operand shows and how; never a view itself.
Value *value_base(Frame *f, const Op *op, View *view);
// As op_lower, but a stored copy of a view is a view, of one operand.
Lowering value_lower(const Value *v);
int value_noperand(const Value *v);
// What operand i of a value in a group shows; false if that is no view.
bool value_operand(Frame *f, const Value *v, int i, Value **source, View *view);
// Decides for every op of f how it is computed. Params are decided already.
void fuse_values(Frame *f);
// The kernel that stores a group's root, or operand `part` of a LOWER_parts
// op, at `where` in `to`.
Kernel *root_kernel(Frame *f, const Value *root, Buffer *to, const View *where);
Kernel *part_kernel(Frame *f, const Value *v, int part, Buffer *to,
                    const View *where);
// A kernel that copies what `op` shows.
Kernel *copy_kernel(Frame *f, const Op *op, Buffer *to);
// A kernel that fills `where`, of the type's element type, with zeros.
Kernel *zero_kernel(Frame *f, const Op *op, Buffer *to, const View *where);
// plan.c: steps and memory, for plan_loop.c.
Frame *new_frame(Plan *p, const Func *func, Frame *outer);
void plan_ops(Frame *f);
void plan_step(Plan *p, RtStepKind kind, int index, int64_t trip);
void plan_kernel(Plan *p, Kernel *k);
Buffer *value_buffer(Frame *f, const Op *op);

// What is replaced: by the result of a turn, or of a training step.
typedef struct Carry {
    const Op *result;
    Buffer *buffer;
} Carry;

// A loop, and its steps (plan_loop.c).
void plan_loop(Frame *f, Value *v);
// The memory of a result, the loop being planned.
Buffer *loop_buffer(Frame *f, const Op *result);
// Brings n results where they are carried: computed there where nothing that
// is read after that lies there, in f's steps from `begin` on; else copied.
void finish_carries(Frame *f, int begin, int n, const Carry carry[]);

// Offsets of all buffers from the steps that use them.
void place_buffers(Plan *p);
Buffer *plan_buffer(Plan *p, const char *name, BufferClass c, int64_t bytes);
Buffer *buffer_root(Buffer *b);
// Whether a kernel reads an access only where, and before, it writes there.
bool kernel_reads_in_place(const Kernel *k, int access);
// The first step of the innermost loop around a step; 0 if there is none.
int loop_around(const Plan *p, int step);
