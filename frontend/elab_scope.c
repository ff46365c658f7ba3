// Names: variables, then sizes and options, then functions.
#include <string.h>

#include "frontend/elab.h"

static const Value *find_in(const Scope *s, const char *name)
{
    for (int i = s->vars.n - 1; i >= 0; i--)
        if (strcmp(s->vars.at[i].name, name) == 0)
            return &s->vars.at[i].value;
    return NULL;
}

const Value *scope_find(Elab *e, const char *name)
{
    for (Scope *s = e->scope; s; s = s->outer) {
        const Value *v = find_in(s, name);
        if (!v)
            continue;
        if (v->kind != VALUE_TENSOR || s->func == e->func)
            return v;
        scope_set(e, name, repeat_capture(e, name, *v));
        return find_in(e->scope, name);
    }
    return NULL;
}

void scope_set(Elab *e, const char *name, Value v)
{
    Scope *s = e->scope;
    if (v.kind == VALUE_TENSOR)
        v.name = name;
    for (int i = 0; i < s->vars.n; i++) {
        if (strcmp(s->vars.at[i].name, name) == 0) {
            s->vars.at[i].value = v;
            return;
        }
    }
    vec_push(e->arena, &s->vars, ((Var){name, v}));
}

const Fn *program_fn(const Program *p, const char *name)
{
    for (int i = 0; i < p->fns.n; i++)
        if (strcmp(p->fns.at[i]->name.s, name) == 0)
            return p->fns.at[i];
    return NULL;
}

static const char *did_you_mean(Elab *e, const char *name)
{
    Words words = {0};
    for (const Scope *s = e->scope; s; s = s->outer)
        for (int i = 0; i < s->vars.n; i++)
            vec_push(e->arena, &words, s->vars.at[i].name);
    env_words(e, &words);
    for (int i = 0; i < e->program->fns.n; i++)
        vec_push(e->arena, &words, e->program->fns.at[i]->name.s);
    builtin_words(e, &words);
    return suggest(e->arena, name, &words);
}

Value scope_name(Elab *e, const char *name, Span at)
{
    if (strcmp(name, "true") == 0 || strcmp(name, "false") == 0)
        return value_bool(*name == 't');
    const Value *v = scope_find(e, name);
    if (v)
        return *v;
    Setting *s = env_find(e, name);
    if (s)
        return env_value(e, s, at);
    if (e->words_allowed || program_fn(e->program, name) || is_builtin(name))
        return value_symbol(name);
    return elab_fail(e, at, "unknown name `%s`%s", name, did_you_mean(e, name));
}
