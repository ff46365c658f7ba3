#include "pass/explain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "pass/planner.h"

static const Mesh *mesh_of(const FuncState *s)
{
    return &s->func->module->mesh;
}

// The collectives from one sharding to another, on a line.
static void print_plan(const Mesh *m, const Type *t, const Sharding *from,
                       const Sharding *to, FILE *f)
{
    ReshardPlan plan;
    Sharding s = *from;
    plan_reshard(m, t, from, to, &plan);
    for (int i = 0; i < plan.n; i++) {
        fprintf(f, "%s%s over ", i ? ", " : "",
                op_info[plan.step[i].code]->name);
        split_print(m, &plan.step[i].axes, f);
        char bytes[BYTES_TEXT];
        fprintf(f, " (%s)",
                bytes_text(bytes, price_step(m, t, &s, &plan.step[i])));
        s = plan.step[i].result;
    }
}

static void print_move(const FuncState *s, const char *what, const Op *value,
                       const Sharding *from, const Sharding *to, FILE *f)
{
    const Mesh *m = mesh_of(s);
    Type t = pending_type(value, s->op[value->id].rule, from);
    if (sharding_equal(from, to, value->type.rank))
        return;
    fprintf(f, "    %s %s ", what,
            value->name ? value->name : op_info[value->code]->name);
    type_print(m, &t, from, f);
    fputs(" -> ", f);
    type_print(m, &value->type, to, f);
    fputs(": ", f);
    print_plan(m, &t, from, to, f);
    fputc('\n', f);
}

// The reshards a placement needs on both sides of the op.
static char *describe(Arena *a, const FuncState *s, const Op *op,
                      const Placement *p)
{
    const Mesh *m = mesh_of(s);
    const OpState *o = &s->op[op->id];
    char *text;
    size_t len;
    FILE *f = open_memstream(&text, &len);
    Sharding out = placement_of(m, op, o->rule, op->noperand, p);
    fputs("    computes ", f);
    type_print(m, &op->type, &out, f);
    fputc('\n', f);
    for (int t = 0; t < op->noperand; t++) {
        Sharding want = placement_of(m, op, o->rule, t, p);
        print_move(s, "operand", op->operand[t], &s->op[op->operand[t]->id].out,
                   &want, f);
    }
    for (int i = 0; i < o->uses.n; i++)
        print_move(s, "result", op, &out,
                   &s->op[o->uses.at[i].user].demand[o->uses.at[i].operand], f);
    fclose(f);
    char *copy = arena_strndup(a, text, len);
    free(text);
    return copy;
}

// --- where a choice turns ----------------------------------------------------

// The size of a dimension that has a factor, maybe among others.
static void resize_dim(const Rule *r, const DimFactors *df, int factor,
                       int64_t *size)
{
    int64_t product = 1;
    bool has = false;
    for (int k = 0; k < df->n; k++) {
        product *= r->size[df->factor[k]];
        has |= df->factor[k] == factor;
    }
    if (has)
        *size = product;
}

// The op with its tensors as large as its rule now says.
static void resize(const Op *op, const Rule *r, int factor, Op *out,
                   Op operand[], Op *operands[])
{
    *out = *op;
    out->operand = operands;
    for (int t = 0; t <= op->noperand; t++) {
        Op *to = t < op->noperand ? &operand[t] : out;
        if (t < op->noperand) {
            operand[t] = *op->operand[t];
            operands[t] = to;
        }
        for (int i = 0; i < to->type.rank; i++)
            resize_dim(r, &r->dim[t][i], factor, &to->type.dim[i]);
    }
}

// The bytes of one reshard; NAN if a gap does not fit the size.
static double price_fitting(const Mesh *m, const Type *t, const Sharding *from,
                            const Sharding *to)
{
    for (int i = 0; i < t->rank; i++)
        if (!split_gaps_fit(m, &from->dim[i], t->dim[i]) ||
            !split_gaps_fit(m, &to->dim[i], t->dim[i]))
            return NAN;
    return price_reshard(m, t, from, to);
}

// Wire bytes of a placement if a factor had another size; NAN if it could not.
static double price_at(const FuncState *s, const Op *op, int factor,
                       int64_t size, const Placement *p)
{
    const Mesh *m = mesh_of(s);
    const OpState *o = &s->op[op->id];
    Op sized, operand[MAX_TENSORS], *operands[MAX_TENSORS];
    Rule r = *o->rule;
    r.size[factor] = size;
    resize(op, &r, factor, &sized, operand, operands);
    double price = 0;
    for (int t = 0; t < op->noperand; t++) {
        Sharding want = placement_of(m, op, &r, t, p);
        price += price_fitting(m, &operand[t].type,
                               &s->op[op->operand[t]->id].out, &want);
    }
    Sharding out = placement_of(m, op, &r, op->noperand, p);
    Type type = pending_type(&sized, &r, &out);
    for (int i = 0; i < o->uses.n; i++)
        price += price_fitting(
            m, &type, &out,
            &s->op[o->uses.at[i].user].demand[o->uses.at[i].operand]);
    return price;
}

// The size of a factor, in steps of its pieces, from which the other
// placement is cheaper; 0 if there is none up to 2^24. By bisection.
static int64_t find_flip(const FuncState *s, const Op *op, int factor,
                         const Placement *a, const Placement *b)
{
    const Mesh *m = mesh_of(s);
    int64_t step = m->ndevice;
    if (step > 1 << 16)
        return 0;
    int64_t lo = 1, hi = ((int64_t)1 << 24) / step;
    if (isnan(price_at(s, op, factor, lo * step, a)) ||
        isnan(price_at(s, op, factor, lo * step, b)))
        return 0;
    bool first = price_at(s, op, factor, lo * step, a) <
                 price_at(s, op, factor, lo * step, b);
    bool last = price_at(s, op, factor, hi * step, a) <
                price_at(s, op, factor, hi * step, b);
    if (first == last)
        return 0;
    while (hi - lo > 1) {
        int64_t mid = (lo + hi) / 2;
        bool is = price_at(s, op, factor, mid * step, a) <
                  price_at(s, op, factor, mid * step, b);
        *(is == first ? &lo : &hi) = mid;
    }
    return hi * step;
}

static const char *describe_flip(PassContext *c, const FuncState *s,
                                 const Op *op)
{
    const OpState *o = &s->op[op->id];
    const char *text = NULL;
    for (int i = 0; i < op->type.rank; i++) {
        const DimFactors *df = &o->rule->dim[op->noperand][i];
        int64_t at = df->n != 1 ? 0
                                : find_flip(s, op, df->factor[0], o->placement,
                                            o->runner);
        if (at)
            text = arena_printf(
                c->arena,
                "%s    the cheaper one turns where dimension %d "
                "of the result (%ld here) is near %ld\n",
                text ? text : "", i, (long)op->type.dim[i], (long)at);
    }
    return text;
}

void explain_func(PassContext *c, const FuncState *s)
{
    for_each_op (op, s->func) {
        const OpState *o = &s->op[op->id];
        if (s->body[op->id])
            explain_func(c, s->body[op->id]);
        if (!o->rule || o->is_fixed)
            continue;
        Decision d = {.func = s->func->name,
                      .name = op->name,
                      .op = op_info[op->code]->name,
                      .place = op->place,
                      .chosen = describe(c->arena, s, op, o->placement),
                      .price = o->price};
        if (o->has_runner) {
            d.runner_up = describe(c->arena, s, op, o->runner);
            d.runner_price = o->runner_price;
            d.flip = describe_flip(c, s, op);
        }
        vec_push(c->arena, &c->decisions, d);
    }
}
