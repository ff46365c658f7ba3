// Which weights the loss depends on, in whatever way: one that only chooses
// (a bias before top-k) does, although it has no gradient.
//
// Values are marked from the loss backward. A loop's results are those of its
// body, one by one; what is carried goes round until nothing more is marked.
#include <string.h>

#include "frontend/elab.h"
#include "ir/loop.h"
#include "ir/op.h"

typedef struct Reach {
    const Module *m;
    bool **live; // by function in the module, by op
} Reach;

static void mark(Reach *r, const Func *f, const Op *op);

static bool *live_of(const Reach *r, const Func *f)
{
    for (int i = 0; i < r->m->funcs.n; i++)
        if (r->m->funcs.at[i] == f)
            return r->live[i];
    return NULL;
}

// Result `index` of a loop is wanted.
static void mark_loop(Reach *r, const Func *f, const Op *op, int index)
{
    Loop l = loop_of(r->m, op);
    const bool *live = live_of(r, l.body);
    mark(r, l.body, l.body->results.at[index]);
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 0; i < l.carry; i++) {
            const Op *next = l.body->results.at[i];
            if (!live[i] || live[next->id])
                continue;
            mark(r, l.body, next);
            changed = true;
        }
    }
    for (int i = 0; i < op->noperand; i++)
        if (live[i])
            mark(r, f, op->operand[i]);
}

static void mark_call(Reach *r, const Func *f, const Op *op)
{
    const Func *body = module_find(r->m, op_str(op, A_body));
    mark(r, body, body->results.at[0]);
    for (int i = 0; i < op->noperand; i++)
        if (live_of(r, body)[i])
            mark(r, f, op->operand[i]);
}

static void mark(Reach *r, const Func *f, const Op *op)
{
    bool *live = live_of(r, f);
    int index = 0;
    if (live[op->id])
        return;
    live[op->id] = true;
    switch (op_role(op)) {
    case ROLE_loop: mark_loop(r, f, op, 0); break;
    case ROLE_result: {
        const Op *loop = result_loop(op, &index);
        mark_loop(r, f, loop, index);
        break;
    }
    case ROLE_call: mark_call(r, f, op); break;
    default:
        for (int i = 0; i < op->noperand; i++)
            mark(r, f, op->operand[i]);
    }
}

void warn_unreached(const Func *loss, Diag *d)
{
    const Module *m = loss->module;
    Reach r = {.m = m};
    r.live = arena_new(m->arena, bool *, (size_t)m->funcs.n);
    for (int i = 0; i < m->funcs.n; i++)
        r.live[i] = arena_new(m->arena, bool, (size_t)m->funcs.at[i]->ops.n + 1);
    mark(&r, loss, loss->results.at[0]);
    for (int i = 0; i < loss->nparam; i++) {
        const Op *p = loss->ops.at[i];
        const char *class = op_str(p, A_class);
        if (live_of(&r, loss)[i] || !class || strcmp(class, "param") != 0)
            continue;
        diag_warn(d, W_unreached_parameter, p->at,
                  "the loss does not depend on weight %s; its gradient is zero",
                  p->name);
    }
}
