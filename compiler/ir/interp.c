#include "ir/interp.h"

#include <math.h>
#include <string.h>

#include "ir/loop.h"
#include "ir/op.h"

double round_bf16(double x)
{
    float f = (float)x;
    uint32_t bits;
    if (isnan(f))
        return NAN;
    memcpy(&bits, &f, sizeof bits);
    bits += 0x7fff + (bits >> 16 & 1);
    bits &= 0xffff0000;
    memcpy(&f, &bits, sizeof f);
    return f;
}

double round_i32(double x)
{
    if (isnan(x))
        return 0;
    if (isinf(x))
        return x < 0 ? INT32_MIN : INT32_MAX;
    return (int32_t)(uint32_t)(int64_t)fmod(x, 0x1p32);
}

// What memory of the type holds.
static void round_all(const Type *t, double *x)
{
    for (int64_t i = 0; i < type_count(t); i++)
        x[i] = t->dtype == DT_bf16   ? round_bf16(x[i])
               : t->dtype == DT_i32  ? round_i32(x[i])
               : t->dtype == DT_bool ? x[i] != 0
                                     : x[i];
}

// How far tensor t's offset moves when a factor's index grows by one.
static void factor_strides(const Op *op, const Rule *r, int t,
                           int64_t stride[MAX_FACTORS])
{
    const Type *type = t < op->noperand ? &op->operand[t]->type : &op->type;
    int64_t step = 1;
    memset(stride, 0, sizeof(int64_t) * MAX_FACTORS);
    for (int i = type->rank - 1; i >= 0; i--) {
        const DimFactors *df = &r->dim[t][i];
        int64_t inner = step;
        for (int k = df->n - 1; k >= 0; k--) {
            stride[df->factor[k]] += inner;
            inner *= r->size[df->factor[k]];
        }
        step *= type->dim[i];
    }
}

static double identity(Combiner c)
{
    return c == COMBINE_sum ? 0 : c == COMBINE_max ? -INFINITY : INFINITY;
}

static void combine_into(double *to, double x, Combiner c)
{
    if (c == COMBINE_sum)
        *to += x;
    else if (isnan(x) || (c == COMBINE_max ? x > *to : x < *to))
        *to = x;
}

// An op is a loop over its factors that combines at each point the scalar
// function of its operands into its result.
static void loop_interp(const Op *op, const double *const in[], double *out)
{
    Rule r;
    const OpInfo *info = op_info[op->code];
    int64_t stride[MAX_TENSORS][MAX_FACTORS];
    int64_t index[MAX_FACTORS] = {0}, at[MAX_TENSORS] = {0};
    int last = op->noperand;
    bool reduces = false;
    info->rule(op, &r);
    for (int t = 0; t <= last; t++)
        factor_strides(op, &r, t, stride[t]);
    for (int f = 0; f < r.nfactor; f++) {
        reduces |= r.kind[f] == FACTOR_REDUCE;
        if (r.size[f] == 0)
            r.nfactor = 0, index[0] = -1;
    }
    for (int64_t i = 0; reduces && i < type_count(&op->type); i++)
        out[i] = identity(r.combiner);
    if (index[0] < 0)
        return;
    for (int f = 0; f >= 0;) {
        double x[MAX_TENSORS];
        for (int t = 0; t < last; t++)
            x[t] = in[t][at[t]];
        double y = info->scalar(op, x);
        if (reduces)
            combine_into(&out[at[last]], y, r.combiner);
        else
            out[at[last]] = y;
        // The next point: the last factor runs fastest.
        for (f = r.nfactor - 1; f >= 0; f--) {
            bool wraps = ++index[f] == r.size[f];
            for (int t = 0; t <= last; t++)
                at[t] += stride[t][f] * (wraps ? 1 - r.size[f] : 1);
            if (!wraps)
                break;
            index[f] = 0;
        }
    }
}

void op_interp(const Func *f, const Op *op, int64_t device,
               const double *const in[], double *out)
{
    if (op_info[op->code]->eval)
        op_info[op->code]->eval(f, op, device, in, out);
    else
        loop_interp(op, in, out);
    round_all(&op->type, out);
}

typedef struct Interp {
    Arena *arena;
    const Module *module;
    int64_t ndevice; // 1 unless LOCAL
} Interp;

static double **run_func(const Interp *x, const Func *f,
                         const double *const in[]);

static double *new_tensor(const Interp *x, const Type *t)
{
    return arena_new(x->arena, double, (size_t)type_count(t) + 1);
}

// A loop's results, in order, each of every device.
static double **new_results(const Interp *x, const Loop *l)
{
    int64_t n = x->ndevice, trip = l->trip;
    int nresult = l->body->results.n;
    double **out = arena_new(x->arena, double *, (size_t)(nresult * n));
    for (int i = 0; i < nresult; i++) {
        Type t = l->body->results.at[i]->type;
        if (loop_stacks_result(l, i))
            t = type_of_stack(&t, trip);
        for (int64_t d = 0; d < n; d++)
            out[i * n + d] = new_tensor(x, &t);
    }
    return out;
}

// The operands of one turn: what is carried, and the slices of the stacks.
static void take_turn(const Interp *x, const Loop *l, int64_t slice,
                      double **value[], double **out, const double **in)
{
    int64_t n = x->ndevice;
    for (int i = 0; i < l->op->noperand; i++) {
        int64_t at = loop_stacks_operand(l, i)
                         ? slice * type_count(&l->body->ops.at[i]->type)
                         : 0;
        for (int64_t d = 0; d < n; d++)
            in[i * n + d] = i < l->carry ? out[i * n + d]
                                         : value[l->op->operand[i]->id][d] + at;
    }
}

// Runs the body once for each slice of the stacked operands.
static double **run_loop(const Interp *x, const Func *f, const Op *op,
                         double **value[])
{
    Loop l = loop_of(f->module, op);
    int64_t n = x->ndevice;
    double **out = new_results(x, &l);
    const double **in =
        arena_new(x->arena, const double *, (size_t)(op->noperand * n));
    for (int i = 0; i < l.carry; i++)
        for (int64_t d = 0; d < n; d++)
            memcpy(out[i * n + d], value[op->operand[i]->id][d],
                   sizeof(double) * (size_t)type_count(&op->operand[i]->type));
    for (int64_t turn = 0; turn < l.trip; turn++) {
        int64_t slice = l.is_reverse ? l.trip - 1 - turn : turn;
        take_turn(x, &l, slice, value, out, in);
        double **result = run_func(x, l.body, in);
        for (int64_t k = l.carry * n; k < l.body->results.n * n; k++) {
            int64_t count = type_count(&l.body->results.at[k / n]->type);
            memcpy(out[k] + slice * count, result[k],
                   sizeof(double) * (size_t)count);
        }
        // Not copied: a turn may leave what was carried into it.
        for (int64_t k = 0; k < l.carry * n; k++)
            out[k] = result[k];
    }
    return out;
}

static void run_op(const Interp *x, const Func *f, const Op *op,
                   double **value[], double *out[])
{
    const OpInfo *info = op_info[op->code];
    const double *in[MAX_TENSORS];
    bool moves = info->exchange != NULL;
    if (moves && x->module->form == FORM_local) {
        info->exchange(f, op, (const double *const *)value[op->operand[0]->id],
                       out);
        for (int64_t d = 0; d < x->ndevice; d++)
            round_all(&op->type, out[d]);
    } else if (moves) {
        memcpy(out[0], value[op->operand[0]->id][0],
               sizeof(double) * (size_t)type_count(&op->type));
    } else {
        for (int64_t d = 0; d < x->ndevice; d++) {
            for (int t = 0; t < op->noperand; t++)
                in[t] = value[op->operand[t]->id][d];
            op_interp(f, op, d, in, out[d]);
        }
    }
}

// What an op gives: for a loop, all its results; `result` picks from those.
static double **run_value(const Interp *x, const Func *f, const Op *op,
                          double **value[], const double *const in[])
{
    int64_t n = x->ndevice;
    double **out = arena_new(x->arena, double *, (size_t)n);
    int index;
    const double **arguments;
    switch (op_role(op)) {
    case ROLE_argument:
        for (int64_t d = 0; d < n; d++)
            out[d] = (double *)in[op->id * n + d];
        return out;
    case ROLE_loop: return run_loop(x, f, op, value);
    case ROLE_result: {
        const Op *loop = result_loop(op, &index);
        return value[loop->id] + index * n;
    }
    case ROLE_call:
        arguments =
            arena_new(x->arena, const double *, (size_t)(op->noperand * n) + 1);
        for (int64_t k = 0; k < op->noperand * n; k++)
            arguments[k] = value[op->operand[k / n]->id][k % n];
        return run_func(x, module_find(f->module, op_str(op, A_body)),
                        arguments);
    default:
        for (int64_t d = 0; d < n; d++)
            out[d] = new_tensor(x, &op->type);
        run_op(x, f, op, value, out);
        return out;
    }
}

static double **run_func(const Interp *x, const Func *f,
                         const double *const in[])
{
    Arena *a = x->arena;
    int64_t n = x->ndevice;
    double ***value = arena_new(a, double **, (size_t)f->ops.n);
    for_each_op (op, f)
        value[op->id] = run_value(x, f, op, value, in);
    double **result = arena_new(a, double *, (size_t)(f->results.n * n));
    for (int i = 0; i < f->results.n; i++)
        for (int64_t d = 0; d < n; d++)
            result[i * n + d] = value[f->results.at[i]->id][d];
    return result;
}

double **module_interp(Arena *a, const Module *m, const double *const in[])
{
    Interp x = {a, m, m->form == FORM_local ? m->mesh.ndevice : 1};
    return run_func(&x, module_entry(m), in);
}
