// The policy of a repeat: `remat full`, `none` or `save(a, b)`. It is kept on
// the loop; the pass `grad` reads it.
#include <string.h>

#include "frontend/elab.h"
#include "ir/op.h"

static const char *const policies[] = {"full", "none", "save"};

void check_policy(Elab *e, const Stmt *s)
{
    const Name *policy = &s->policy;
    Words words = {0};
    bool known = !s->remat;
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        known |= s->remat && strcmp(policies[i], policy->s) == 0;
        vec_push(e->arena, &words, policies[i]);
    }
    if (!known) {
        elab_fail(e, policy->at, "remat is full, none or save(NAMES), not `%s`%s",
                  policy->s, suggest(e->arena, policy->s, &words));
        return;
    }
    if (s->remat && (strcmp(policy->s, "save") == 0) != (s->saved.n > 0))
        elab_fail(e, policy->at,
                  s->saved.n ? "remat %s takes no names"
                             : "remat %s wants the names of what it saves",
                  policy->s);
}

// The names of a body's values; `q` is also that of q.2, which a function that
// is called twice makes of it.
static void add_words(Elab *e, const Func *f, Words *words)
{
    for_each_op (op, f) {
        if (op->name && op->id >= f->nparam)
            vec_push(e->arena, words,
                     arena_strndup(e->arena, op->name, strcspn(op->name, ".")));
        if (op_role(op) == ROLE_call)
            add_words(e, module_find(f->module, op_str(op, A_body)), words);
    }
}

void check_saved(Elab *e, const Stmt *s, const Func *body)
{
    Words words = {0};
    add_words(e, body, &words);
    for (int i = 0; i < s->saved.n; i++) {
        const Name *name = &s->saved.at[i];
        bool found = false;
        for (int k = 0; k < words.n && !found; k++)
            found = strcmp(words.at[k], name->s) == 0;
        if (!found)
            elab_fail(e, name->at, "repeat %s computes no `%s` to save%s",
                      s->names.at[0].s, name->s,
                      suggest(e->arena, name->s, &words));
    }
}
