// The price of an op's placement among its operands and users.
#include "pass/planner.h"
#include "pass/solve.h"

// What a byte on the wire costs, in work: scalar operations of a contraction,
// and bytes moved to and from memory. Ratios of current accelerators (a v5p
// chip: 459 Tflop/s, 2.8 TB/s of memory, 90 GB/s of a ring link); they only
// break ties and keep a device from doing all the work itself.
static const double points_per_byte = 2500;
static const double memory_per_byte = 30;

static const Mesh *mesh_of(const FuncState *s)
{
    return &s->func->module->mesh;
}

// FNV-1a over numbers.
static uint64_t mix(uint64_t h, int64_t x)
{
    return (h ^ (uint64_t)x) * 0x100000001b3u;
}

static uint64_t mix_sharding(uint64_t h, const Sharding *s, int rank)
{
    h = mix(mix(h, (int64_t)s->partial), (int64_t)s->combiner);
    for (int i = 0; i < rank; i++) {
        h = mix(h, s->dim[i].n);
        for (int k = 0; k < s->dim[i].n; k++)
            h = mix(h, s->dim[i].item[k]);
    }
    return h;
}

// price_reshard, remembered: the same few changes are asked for again and
// again. A price is known by 64 bits of its question; should two questions
// ever share them, a plan would be dearer, not wrong.
static double reshard_cost(const FuncState *s, const Op *value,
                           const Sharding *from, const Sharding *to)
{
    if (sharding_equal(from, to, value->type.rank))
        return 0;
    Type t = pending_type(value, s->op[value->id].rule, from);
    uint64_t h = mix(mix(0xcbf29ce484222325u, t.dtype), t.rank);
    for (int i = 0; i < t.rank; i++)
        h = mix(h, t.dim[i]);
    h = mix_sharding(mix_sharding(h, from, t.rank), to, t.rank);
    PriceEntry *e = &s->prices[(h ^ h >> 32) % NPRICE];
    if (e->question != h)
        *e = (PriceEntry){h, price_reshard(mesh_of(s), &t, from, to)};
    return e->price;
}

static double work(const FuncState *s, const Op *op, const Rule *r,
                   const Placement *p)
{
    double part[MAX_FACTORS]; // of each factor, on one device
    double points = 1, bytes = 0;
    for (int f = 0; f < r->nfactor; f++) {
        part[f] = (double)r->size[f] /
                  (double)split_pieces(mesh_of(s), &p->factor[f]);
        points *= part[f];
    }
    for (int t = 0; t <= op->noperand; t++) {
        const Type *type = t < op->noperand ? &op->operand[t]->type : &op->type;
        double size = dtype_bytes[type->dtype];
        for (int i = 0; i < type->rank; i++)
            for (int k = 0; k < r->dim[t][i].n; k++)
                size *= part[r->dim[t][i].factor[k]];
        bytes += size;
    }
    return points / points_per_byte + bytes / memory_per_byte;
}

// What it would cost more to compute a value right as `want`, for its only
// user, instead of changing it afterwards: the broadcast of a scale is cheaper
// made whole from a gathered scale than gathered. Negative: not possible.
static double price_native(const FuncState *s, const Op *value,
                           const Sharding *want)
{
    const Mesh *m = mesh_of(s);
    const OpState *v = &s->op[value->id];
    Placement p = {0};
    Sharding at;
    double price = 0;
    if (!v->rule || v->is_fixed || v->uses.n != 1 || want->partial)
        return -1;
    factors_from_sharding(m, v->rule, value->noperand, value->type.rank, want,
                          p.factor);
    place_tensor(m, value, v->rule, value->noperand, &p, &at);
    if (!sharding_equal(&at, want, value->type.rank))
        return -1;
    for (int t = 0; t < value->noperand; t++) {
        const Op *in = value->operand[t];
        place_tensor(m, value, v->rule, t, &p, &at);
        price += reshard_cost(s, in, &s->op[in->id].out, &at);
        price -= reshard_cost(s, in, &s->op[in->id].out, &v->demand[t]);
    }
    return price > 0 ? price : 0;
}

// What it costs that user `id` demands `want` of a value: nothing if another
// user demands the same.
static double price_operand(const FuncState *s, int id, const Op *value,
                            const Sharding *want)
{
    const OpState *v = &s->op[value->id];
    if (sharding_equal(&v->out, want, value->type.rank) ||
        (v->shared && sharding_equal(v->shared, want, value->type.rank)))
        return 0;
    for (int i = 0; i < v->uses.n; i++) {
        Use use = v->uses.at[i];
        if (use.user != id && s->op[use.user].is_placed &&
            sharding_equal(&s->op[use.user].demand[use.operand], want,
                           value->type.rank))
            return 0;
    }
    double moved = reshard_cost(s, value, &v->out, want);
    double native = price_native(s, value, want);
    return native >= 0 && native < moved ? native : moved;
}

// What a user asks of a value: it can carry only pending sums that are there
// (solve.c drops the others from its placement).
static Sharding demand_on(const FuncState *s, Use use, const Sharding *out)
{
    Sharding want = s->op[use.user].demand[use.operand];
    want.partial &= out->partial;
    return want;
}

// Whether an earlier use demands the same as use i.
static bool is_repeated(const FuncState *s, const OpState *v, int i, int rank)
{
    const Sharding *want =
        &s->op[v->uses.at[i].user].demand[v->uses.at[i].operand];
    for (int k = 0; k < i; k++) {
        const OpState *user = &s->op[v->uses.at[k].user];
        if (user->is_placed &&
            sharding_equal(&user->demand[v->uses.at[k].operand], want, rank))
            return true;
    }
    return false;
}

// What all placed users of a value make of it.
static double price_users(const FuncState *s, const Op *op, const Sharding *out)
{
    const OpState *v = &s->op[op->id];
    double price = 0;
    for (int i = 0; i < v->uses.n; i++) {
        Use use = v->uses.at[i];
        if (!s->op[use.user].is_placed || is_repeated(s, v, i, op->type.rank))
            continue;
        Sharding want = demand_on(s, use, out);
        price += reshard_cost(s, op, out, &want);
    }
    return price;
}

double price_value(const FuncState *s, int id)
{
    const OpState *o = &s->op[id];
    const Op *op = s->func->ops.at[id];
    double price = price_users(s, op, &o->out);
    if (o->rule && !o->is_fixed)
        price += work(s, op, o->rule, o->placement);
    return price;
}

// What a result placed as `out` would become by its hint: an op that only
// passes a wish on says nothing of the dimensions that the wish lacks.
static Sharding hinted(const OpState *v, int rank, const Sharding *out)
{
    Sharding end = v->hint;
    AtomSet used = sharding_split_atoms(&v->hint, rank);
    end.partial = 0;
    for (int i = 0; v->is_hint_open && i < rank; i++)
        if (!end.dim[i].n && !(split_atoms(&out->dim[i]) & used))
            end.dim[i] = out->dim[i];
    return end;
}

// What the users (or, before they are placed, the hint) make of a result.
static double price_result(const FuncState *s, const Op *op,
                           const Sharding *out)
{
    const OpState *v = &s->op[op->id];
    double price = price_users(s, op, out);
    int placed = 0;
    for (int i = 0; i < v->uses.n; i++)
        placed += s->op[v->uses.at[i].user].is_placed;
    if (placed == v->uses.n && placed)
        return price;
    Sharding end = *out;
    end.partial = 0;
    if (v->has_hint)
        end = hinted(v, op->type.rank, out);
    return price + reshard_cost(s, op, out, &end);
}

// Whether an earlier operand of the op is the same value asked for alike.
static bool asks_again(const FuncState *s, const Op *op, const Rule *r, int t,
                       const Placement *p, const Sharding *want)
{
    for (int k = 0; k < t; k++) {
        if (op->operand[k] != op->operand[t])
            continue;
        Sharding other;
        place_tensor(mesh_of(s), op, r, k, p, &other);
        if (sharding_equal(&other, want, op->operand[t]->type.rank))
            return true;
    }
    return false;
}

double price_placement(const FuncState *s, int id, const Placement *p)
{
    const Op *op = s->func->ops.at[id];
    const Rule *r = s->op[id].rule;
    const Mesh *m = mesh_of(s);
    double price = work(s, op, r, p);
    Sharding at;
    for (int t = 0; t < op->noperand; t++) {
        place_tensor(m, op, r, t, p, &at);
        if (!asks_again(s, op, r, t, p, &at))
            price += price_operand(s, id, op->operand[t], &at);
    }
    place_tensor(m, op, r, op->noperand, p, &at);
    return price + price_result(s, op, &at);
}
