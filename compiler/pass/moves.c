#include "pass/moves.h"

// The first n items of a dimension's missing part, and so on: item lists.
static Split sublist(const Split *s, int from, int to)
{
    Split part = {0};
    for (int i = from; i < to; i++)
        split_push(&part, s->item[i]);
    return part;
}

static int common_prefix(const Split *a, const Split *b)
{
    int n = 0;
    while (n < a->n && n < b->n && a->item[n] == b->item[n])
        n++;
    return n;
}

static bool has_excess(const Sharding *s, const Sharding *to, int dim)
{
    return s->dim[dim].n > common_prefix(&s->dim[dim], &to->dim[dim]);
}

// The longest run of wanted items after s's own that `allowed` has; a gap may
// lead it if may_gap.
static Split wanted_run(const Split *s, const Split *to, AtomSet allowed,
                        bool may_gap)
{
    int from = s->n, n = from;
    if (may_gap && n < to->n && to->item[n] < 0)
        n++;
    while (n < to->n && to->item[n] >= 0 && (allowed >> to->item[n] & 1))
        n++;
    if (n && to->item[n - 1] < 0)
        n = from;
    return sublist(to, from, n > from ? n : from);
}

static Step *new_move(Moves *out, OpCode code, const Sharding *s)
{
    if (out->n == out->limit)
        return NULL;
    Step *step = &out->step[out->n++];
    step->code = code;
    step->result = *s;
    step->split_dim = step->concat_dim = -1;
    step->axes.n = step->to.n = 0;
    return step;
}

// Whether the move may stand: padded blocks must not shift on the way.
static void keep_if_aligned(const Query *q, const Sharding *s, Moves *out,
                            int dim, bool is_toward)
{
    const Split *before = &s->dim[dim];
    const Split *after = &out->step[out->n - 1].result.dim[dim];
    int64_t size = q->type->dim[dim];
    bool exact = size % split_pieces(q->mesh, before) == 0 &&
                 size % split_pieces(q->mesh, after) == 0;
    bool ok = exact || (split_is_aligned(q->mesh, size, before, after) &&
                        !split_has_gap(after));
    if (is_toward && !split_is_aligned(q->mesh, size, after, &q->to->dim[dim]))
        ok = false;
    if (!ok)
        out->n--;
}

// Appends free axes (slice) or pending ones (reduce-scatter) to dimension i.
void add_extensions(const Query *q, const Sharding *s, AtomSet pending, int i,
                    Moves *out)
{
    AtomSet used = sharding_atoms(s, q->type->rank);
    Split run = wanted_run(&s->dim[i], &q->to->dim[i], pending, false);
    if (run.n) {
        Step *step = new_move(out, OP_reduce_scatter, s);
        if (step) {
            step->axes = run;
            step->split_dim = i;
            step->result.partial &= ~split_atoms(&run);
            split_append(&step->result.dim[i], &run);
            keep_if_aligned(q, s, out, i, true);
        }
    }
    run = wanted_run(&s->dim[i], &q->to->dim[i], ~used, true);
    if (run.n) {
        Step *step = new_move(out, OP_shard_slice, s);
        if (step) {
            step->axes = run;
            step->split_dim = i;
            split_append(&step->result.dim[i], &run);
            keep_if_aligned(q, s, out, i, true);
        }
    }
}

// How many of run's first items stand in s in that order with no gap between.
static int in_order(const Split *s, const Split *run)
{
    int at = 0, n = 0;
    while (n < run->n && at < s->n) {
        if (s->item[at] == run->item[n])
            n++;
        else if (n &&
                 (s->item[at] < 0 || (split_atoms(run) >> s->item[at] & 1)))
            break;
        at++;
    }
    return n;
}

// Moves the axes that dimension i wants next from where they are: dimension j.
static void add_all_to_all(const Query *q, const Sharding *s, int i, int j,
                           Moves *out)
{
    int p = common_prefix(&s->dim[j], &q->to->dim[j]);
    Split excess = sublist(&s->dim[j], p, s->dim[j].n);
    Split run =
        wanted_run(&s->dim[i], &q->to->dim[i], split_atoms(&excess), false);
    run.n = in_order(&s->dim[j], &run);
    if (!run.n)
        return;
    Step *step = new_move(out, OP_all_to_all, s);
    if (!step)
        return;
    step->axes = run;
    step->split_dim = i;
    step->concat_dim = j;
    split_take_out(q->mesh, &step->result.dim[j], split_atoms(&run));
    split_append(&step->result.dim[i], &run);
    int n = out->n;
    keep_if_aligned(q, s, out, j, false);
    if (out->n == n)
        keep_if_aligned(q, s, out, i, true);
}

// The group of an all-gather goes from the major atom to the minor one as they
// stand in the dimension; a gap ends it, as it would not be one block.
void add_gather(const Query *q, const Sharding *s, int i, AtomSet atoms,
                Moves *out)
{
    const Split *have = &s->dim[i];
    AtomSet group = 0;
    for (int k = have->n - 1; k >= 0 && !(group && have->item[k] < 0); k--)
        if (have->item[k] >= 0 && (atoms >> have->item[k] & 1))
            group |= (AtomSet)1 << have->item[k];
    Step *step = group ? new_move(out, OP_all_gather, s) : NULL;
    if (!step)
        return;
    for (int k = 0; k < have->n; k++)
        if (have->item[k] >= 0 && (group >> have->item[k] & 1))
            split_push(&step->axes, have->item[k]);
    step->concat_dim = i;
    split_take_out(q->mesh, &step->result.dim[i], group);
    keep_if_aligned(q, s, out, i, false);
}

static void add_gathers(const Query *q, const Sharding *s, int i, Moves *out)
{
    int p = common_prefix(&s->dim[i], &q->to->dim[i]);
    Split excess = sublist(&s->dim[i], p, s->dim[i].n);
    AtomSet extra = split_atoms(&excess);
    AtomSet unwanted = extra & ~split_atoms(&q->to->dim[i]);
    if (unwanted != extra)
        add_gather(q, s, i, unwanted, out);
    add_gather(q, s, i, extra, out);
    bool shifts =
        !split_is_aligned(q->mesh, q->type->dim[i], &s->dim[i], &q->to->dim[i]);
    if (shifts || (extra && split_has_gap(&q->to->dim[i])))
        add_gather(q, s, i, split_atoms(&s->dim[i]), out);
}

// The atoms of dimension i that would have to be replaced, position by
// position; false if the sizes do not match.
static bool replaced_atoms(const Query *q, const Sharding *s, int i, Step *step)
{
    const Split *have = &s->dim[i], *want = &q->to->dim[i];
    if (have->n != want->n || split_equal(have, want))
        return false;
    for (int k = 0; k < have->n; k++) {
        int32_t a = have->item[k], b = want->item[k];
        if (a == b)
            continue;
        if (a < 0 || b < 0 || q->mesh->atom[a].size != q->mesh->atom[b].size)
            return false;
        split_push(&step->axes, a);
        split_push(&step->to, b);
    }
    return true;
}

// One permute of all dimensions of `dims` that only their order of axes, or
// other axes of the same sizes, keeps from being as wanted.
static void add_permute(const Query *q, const Sharding *s, unsigned dims,
                        Moves *out)
{
    Step *step = new_move(out, OP_collective_permute, s);
    if (!step)
        return;
    for (int i = 0; i < q->type->rank; i++) {
        if (!(dims >> i & 1))
            continue;
        Step trial = *step;
        if (trial.axes.n + s->dim[i].n <= MAX_ITEMS &&
            replaced_atoms(q, s, i, &trial)) {
            *step = trial;
            step->result.dim[i] = q->to->dim[i];
        }
    }
    AtomSet from = split_atoms(&step->axes), to = split_atoms(&step->to);
    AtomSet used = sharding_atoms(s, q->type->rank);
    if (!from || (to & used & ~from))
        out->n--;
}

// The permute from one order of items to another of the same sizes; false if
// the sizes differ.
static bool set_permute(const Mesh *m, Step *step, const Split *from,
                        const Split *to)
{
    for (int k = 0; k < from->n; k++) {
        int a = from->item[k], b = to->item[k];
        if (a == b)
            continue;
        if (a < 0 || b < 0 || m->atom[a].size != m->atom[b].size)
            return false;
        split_push(&step->axes, a);
        split_push(&step->to, b);
    }
    return step->axes.n > 0;
}

// `want`, then those of `have` that it lacks.
static Split kept_first(const Split *have, const Split *want)
{
    Split order = *want;
    for (int k = 0; k < have->n; k++)
        if (!(split_atoms(want) >> have->item[k] & 1))
            split_push(&order, have->item[k]);
    return order;
}

// One permute that brings the axes that dimension i keeps in front of those it
// loses, so that a gather of these leaves one run: (x, y) -> (y, x) -> y.
static void add_reorder(const Query *q, const Sharding *s, int i, Moves *out)
{
    const Split *have = &s->dim[i], *want = &q->to->dim[i];
    AtomSet kept = split_atoms(want);
    if (split_has_gap(have) || split_has_gap(want) || !kept ||
        kept == split_atoms(have) || (kept & ~split_atoms(have)))
        return;
    Split order = kept_first(have, want);
    Step *step = new_move(out, OP_collective_permute, s);
    if (step && !set_permute(q->mesh, step, have, &order))
        out->n--;
    else if (step)
        step->result.dim[i] = order;
}

// Splits dimension i by the free axes it wants although others are in their
// place: the reorder that follows then moves the smaller part.
//   x -> (x, y) -> (y, x) -> y
static void add_slice_behind(const Query *q, const Sharding *s, int i,
                             Moves *out)
{
    const Split *have = &s->dim[i], *want = &q->to->dim[i];
    AtomSet used = sharding_atoms(s, q->type->rank);
    if (split_has_gap(have) || split_has_gap(want) || !want->n ||
        (split_atoms(want) & used) || have->n + want->n > MAX_ITEMS)
        return;
    Split both = *have, order = kept_first(have, want);
    Step *step = new_move(out, OP_shard_slice, s);
    split_append(&both, want);
    if (!step)
        return;
    Step permute = *step;
    if (q->type->dim[i] % split_pieces(q->mesh, &both) != 0 ||
        !set_permute(q->mesh, &permute, &both, &order)) {
        out->n--;
        return;
    }
    step->axes = *want;
    step->split_dim = i;
    step->result.dim[i] = both;
}

void add_reductions(const Query *q, const Sharding *s, AtomSet pending,
                    Moves *out)
{
    AtomSet wanted = pending & sharding_split_atoms(q->to, q->type->rank);
    AtomSet sets[2] = {pending & ~wanted, pending};
    for (int k = 0; k < 2; k++) {
        if (!sets[k] || (k && sets[0] == sets[1]))
            continue;
        Step *step = new_move(out, OP_all_reduce, s);
        if (!step)
            return;
        for (int a = 0; a < q->mesh->natom; a++)
            if (sets[k] >> a & 1)
                split_push(&step->axes, a);
        step->result.partial &= ~sets[k];
    }
}

void find_moves(const Query *q, const Sharding *s, Moves *out)
{
    int rank = q->type->rank;
    AtomSet pending = s->partial & ~q->to->partial;
    out->n = 0;
    for (int i = 0; i < rank; i++)
        if (!has_excess(s, q->to, i) && s->dim[i].n < q->to->dim[i].n)
            add_extensions(q, s, pending, i, out);
    for (int i = 0; i < rank; i++)
        for (int j = 0; j < rank; j++)
            if (i != j && !has_excess(s, q->to, i) && has_excess(s, q->to, j))
                add_all_to_all(q, s, i, j, out);
    add_permute(q, s, ~0u, out);
    for (int i = 0; i < rank; i++)
        if (has_excess(s, q->to, i))
            add_permute(q, s, 1u << i, out);
    add_reductions(q, s, pending, out);
    for (int i = 0; i < rank; i++) {
        if (!has_excess(s, q->to, i))
            continue;
        add_slice_behind(q, s, i, out);
        add_reorder(q, s, i, out);
    }
    for (int i = 0; i < rank; i++)
        if (has_excess(s, q->to, i) ||
            !split_is_aligned(q->mesh, q->type->dim[i], &s->dim[i],
                              &q->to->dim[i]))
            add_gathers(q, s, i, out);
}
