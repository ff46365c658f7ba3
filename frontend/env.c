// Sizes, options and lets: declared in the program, changed by a config and
// its bases and by --set, evaluated when first asked for.
//
// An option that is a struct is one setting for its head and one for each
// field ("rotation.theta"), so that a config can change either.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/elab.h"

enum {
    MAX_BASES = 32,
};

static const double MAX_SIZE = 1099511627776.0; // 2^40

Setting *env_find(const Elab *e, const char *name)
{
    for (int i = 0; i < e->settings.n; i++)
        if (strcmp(e->settings.at[i]->name.s, name) == 0)
            return e->settings.at[i];
    return NULL;
}

void env_words(Elab *e, Words *words)
{
    for (int i = 0; i < e->settings.n; i++)
        vec_push(e->arena, words, e->settings.at[i]->name.s);
}

static const Expr *head_of(Elab *e, const Expr *x)
{
    Expr *head = arena_new(e->arena, Expr, 1);
    *head = (Expr){.kind = EXPR_NAME, .name = x->name, .at = x->at};
    return head;
}

static Name field_name(Elab *e, const char *of, Name field)
{
    return (Name){arena_printf(e->arena, "%s.%s", of, field.s), field.at};
}

static void declare(Elab *e, int kind, Name name, const Expr *value)
{
    if (env_find(e, name.s)) {
        elab_fail(e, name.at, "`%s` is declared twice", name.s);
        diag_note(e->diag, env_find(e, name.s)->name.at, "here first");
        return;
    }
    Setting *s = arena_new(e->arena, Setting, 1);
    bool is_struct = value && value->kind == EXPR_STRUCT;
    s->kind = kind;
    s->name = name;
    s->first = s->value = is_struct ? head_of(e, value) : value;
    vec_push(e->arena, &e->settings, s);
    for (int i = 0; is_struct && i < value->fields.n; i++)
        declare(e, kind, field_name(e, name.s, value->fields.at[i].name),
                value->fields.at[i].value);
}

static void report_unknown(Elab *e, Name name, bool is_let)
{
    Words words = {0};
    for (int i = 0; i < e->settings.n; i++)
        if (e->settings.at[i]->kind != SETTING_LET)
            vec_push(e->arena, &words, e->settings.at[i]->name.s);
    elab_fail(e, name.at,
              is_let ? "`%s` is computed by a let and cannot be set%s"
                     : "no size or option is called `%s`%s",
              name.s, is_let ? "" : suggest(e->arena, name.s, &words));
}

static void assign(Elab *e, Name name, const Expr *value)
{
    Setting *s = env_find(e, name.s);
    if (!s || s->kind == SETTING_LET) {
        report_unknown(e, name, s != NULL);
        return;
    }
    bool is_struct = value->kind == EXPR_STRUCT;
    s->value = is_struct ? head_of(e, value) : value;
    for (int i = 0; is_struct && i < value->fields.n; i++) {
        Name field = field_name(e, name.s, value->fields.at[i].name);
        if (env_find(e, field.s))
            assign(e, field, value->fields.at[i].value);
        else
            declare(e, s->kind, field, value->fields.at[i].value);
    }
}

static const Config *find_config(Elab *e, const char *name, Span at)
{
    Words words = {0};
    const char *list = "";
    for (int i = 0; i < e->program->configs.n; i++) {
        const Config *c = &e->program->configs.at[i];
        if (strcmp(c->name.s, name) == 0)
            return c;
        vec_push(e->arena, &words, c->name.s);
        list = arena_printf(e->arena, "%s%s%s", list, i ? ", " : "", c->name.s);
    }
    elab_fail(e, at, "no config is called `%s`%s; the program has %s", name,
              suggest(e->arena, name, &words), *list ? list : "none");
    return NULL;
}

static void apply_config(Elab *e, const Config *c, int depth)
{
    if (depth > MAX_BASES) {
        elab_fail(e, c->base.at, "config `%s` is its own base", c->base.s);
        return;
    }
    if (c->base.s) {
        const Config *base = find_config(e, c->base.s, c->base.at);
        if (base)
            apply_config(e, base, depth + 1);
    }
    for (int i = 0; i < c->fields.n; i++)
        assign(e, c->fields.at[i].name, c->fields.at[i].value);
}

// "NAME=VALUE": a number, true, false or a word.
static void apply_set(Elab *e, const char *text)
{
    Source *source = arena_new(e->arena, Source, 1);
    *source = (Source){"--set", text};
    const char *equal = strchr(text, '=');
    int length = (int)strlen(text);
    Span all = {source, 0, length};
    if (!equal || equal == text || !equal[1]) {
        elab_fail(e, all, "wants NAME=VALUE");
        return;
    }
    int split = (int)(equal - text);
    Name name = {arena_strndup(e->arena, text, (size_t)split),
                 {source, 0, split}};
    Expr *value = arena_new(e->arena, Expr, 1);
    char *end;
    value->at = (Span){source, split + 1, length};
    value->number = strtod(equal + 1, &end);
    value->kind = *end ? EXPR_NAME : EXPR_NUMBER;
    value->name = equal + 1;
    assign(e, name, value);
}

void env_init(Elab *e)
{
    const Program *p = e->program;
    for (int i = 0; i < p->sizes.n; i++)
        declare(e, SETTING_SIZE, p->sizes.at[i].name, p->sizes.at[i].value);
    for (int i = 0; i < p->options.n; i++)
        declare(e, SETTING_OPTION, p->options.at[i].name,
                p->options.at[i].value);
    for (int i = 0; i < p->lets.n; i++)
        declare(e, SETTING_LET, p->lets.at[i].name, p->lets.at[i].value);
    const char *config = e->options->config;
    const Config *c = config ? find_config(e, config, (Span){0}) : NULL;
    if (c)
        apply_config(e, c, 0);
    for (int i = 0; e->options->sets && e->options->sets[i]; i++)
        apply_set(e, e->options->sets[i]);
}

// All sizes without a value at once: most often the config was forgotten.
static Value report_missing(Elab *e)
{
    const char *list = "", *configs = "";
    const Setting *first = NULL;
    if (e->missing_reported)
        return (Value){0};
    e->missing_reported = true;
    for (int i = 0; i < e->settings.n; i++) {
        const Setting *s = e->settings.at[i];
        if (s->value)
            continue;
        list = arena_printf(e->arena, "%s%s%s", list, first ? ", " : "",
                            s->name.s);
        first = first ? first : s;
    }
    for (int i = 0; i < e->program->configs.n; i++)
        configs = arena_printf(e->arena, "%s%s%s", configs, i ? ", " : "",
                               e->program->configs.at[i].name.s);
    return elab_fail(e, first->name.at,
                     "no value for %s; choose a config with --config (%s) or "
                     "give it with --set NAME=VALUE",
                     list, *configs ? configs : "the program has none");
}

static Value check_size(Elab *e, const Setting *s, Value v)
{
    int64_t n;
    const char *what = arena_printf(e->arena, "size %s", s->name.s);
    return value_int(e, v, s->value->at, what, 0, (int64_t)MAX_SIZE, &n)
               ? v
               : (Value){0};
}

// The option `dtype` is what floats are computed in.
static Value check_dtype(Elab *e, const Setting *s, Value v)
{
    const char *list = "";
    DType found = v.kind == VALUE_SYMBOL ? dtype_find(v.symbol) : NDTYPE;
    if (found != NDTYPE && dtype_is_float(found))
        return v;
    for (int t = 0; t < NDTYPE; t++)
        if (dtype_is_float((DType)t))
            list = arena_printf(e->arena, "%s%s%s", list, *list ? " or " : "",
                                dtype_name[t]);
    return elab_fail(e, s->value->at, "option dtype must be %s, not %s", list,
                     v.kind == VALUE_SYMBOL
                         ? arena_printf(e->arena, "`%s`", v.symbol)
                         : kind_text(&v));
}

// The option `grad_reduce` is what sums of gradients over devices travel in.
static Value check_reduce(Elab *e, const Setting *s, Value v)
{
    const char *word = v.kind == VALUE_SYMBOL ? v.symbol : "";
    if (strcmp(word, "f32") == 0 || strcmp(word, "bf16") == 0)
        return v;
    return elab_fail(e, s->value->at,
                     "option grad_reduce must be f32 or bf16, not %s",
                     *word ? arena_printf(e->arena, "`%s`", word)
                           : kind_text(&v));
}

static Value check_option(Elab *e, const Setting *s, Value v)
{
    if (v.kind != VALUE_BAD && strcmp(s->name.s, "grad_reduce") == 0)
        return check_reduce(e, s, v);
    if (v.kind != VALUE_BAD && strcmp(s->name.s, "dtype") == 0)
        return check_dtype(e, s, v);
    if (v.kind == VALUE_BAD || s->value == s->first)
        return v;
    Value first = eval_scalar(e, s->first);
    if (first.kind != VALUE_BAD && first.kind != v.kind)
        return elab_fail(e, s->value->at, "option %s is %s, not %s", s->name.s,
                         kind_text(&first), kind_text(&v));
    return v;
}

Value env_value(Elab *e, Setting *s, Span at)
{
    if (s->state == SETTING_DONE)
        return s->cached;
    if (!s->value)
        return report_missing(e);
    if (s->state == SETTING_BUSY)
        return elab_fail(e, at, "`%s` is defined by itself", s->name.s);
    bool words = e->words_allowed;
    Scope *scope = e->scope;
    s->state = SETTING_BUSY;
    e->scope = NULL;
    e->words_allowed = s->kind == SETTING_OPTION;
    Value v = eval_scalar(e, s->value);
    if (s->kind == SETTING_SIZE)
        v = check_size(e, s, v);
    if (s->kind == SETTING_OPTION)
        v = check_option(e, s, v);
    e->words_allowed = words;
    e->scope = scope;
    s->cached = v;
    s->state = SETTING_DONE;
    return v;
}

const char *env_word(Elab *e, const char *name)
{
    Setting *s = env_find(e, name);
    Value v = s ? env_value(e, s, s->name.at) : (Value){0};
    return v.kind == VALUE_SYMBOL ? v.symbol : NULL;
}
