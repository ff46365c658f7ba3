#include "pass/planner.h"

#include <assert.h>

#include "ir/op.h"
#include "pass/moves.h"

enum {
    MAX_NODES = 160, // of the search, before the staged plan stands
};

int64_t local_bytes(const Mesh *m, const Type *t, const Sharding *s)
{
    int64_t n = dtype_bytes[t->dtype];
    for (int i = 0; i < t->rank; i++)
        n *= split_local(m, &s->dim[i], t->dim[i]);
    return n;
}

bool split_is_aligned(const Mesh *m, int64_t size, const Split *a,
                      const Split *b)
{
    return !a->n || !b->n ||
           split_padded(m, a, size) == split_padded(m, b, size);
}

double price_step(const Mesh *m, const Type *t, const Sharding *from,
                  const Step *s)
{
    const OpInfo *info = op_info[s->code];
    return info->wire ? info->wire((double)local_bytes(m, t, from),
                                   (double)split_pieces(m, &s->axes))
                      : 0;
}

static void plan_push(const Query *q, ReshardPlan *p, const Sharding *s,
                      const Step *step)
{
    assert(p->n < MAX_STEPS);
    p->bytes += price_step(q->mesh, q->type, s, step);
    p->step[p->n++] = *step;
}

// Always takes the first move. False if it runs out of moves or steps.
static bool plan_staged(const Query *q, const Sharding *from, ReshardPlan *out)
{
    Sharding s = *from;
    Moves moves;
    moves.limit = 1;
    out->n = 0;
    out->bytes = 0;
    while (!sharding_equal(&s, q->to, q->type->rank)) {
        find_moves(q, &s, &moves);
        if (!moves.n || out->n == MAX_STEPS)
            return false;
        plan_push(q, out, &s, &moves.step[0]);
        s = moves.step[0].result;
    }
    return true;
}

// Combines, gathers and slices: works for any pair.
static void plan_whole(const Query *q, const Sharding *from, ReshardPlan *out)
{
    Sharding s = *from;
    Moves moves;
    moves.n = 0;
    moves.limit = MAX_MOVES;
    out->n = 0;
    out->bytes = 0;
    if (s.partial & ~q->to->partial) {
        add_reductions(q, &s, s.partial & ~q->to->partial, &moves);
        plan_push(q, out, &s, &moves.step[moves.n - 1]);
        s = out->step[out->n - 1].result;
    }
    for (int i = 0; i < q->type->rank; i++) {
        bool differs = !split_equal(&s.dim[i], &q->to->dim[i]);
        while (differs && s.dim[i].n) {
            moves.n = 0;
            add_gather(q, &s, i, split_atoms(&s.dim[i]), &moves);
            assert(moves.n);
            plan_push(q, out, &s, &moves.step[0]);
            s = moves.step[0].result;
        }
    }
    for (int i = 0; i < q->type->rank; i++) {
        while (!split_equal(&s.dim[i], &q->to->dim[i])) {
            moves.n = 0;
            add_extensions(q, &s, 0, i, &moves);
            assert(moves.n);
            plan_push(q, out, &s, &moves.step[0]);
            s = moves.step[0].result;
        }
    }
}

typedef struct Node {
    double cost;
    int parent; // -1: the start
    bool is_done;
    Step step; // from the parent; its result is the node's sharding
} Node;

// A step costs a little for itself, so that of equals the shorter plan wins.
static const double step_cost = 0.5;

// Adds a node or improves the one of the same sharding.
static void relax(const Query *q, Node node[], int *n, int parent,
                  const Step *step)
{
    double cost = node[parent].cost + step_cost +
                  price_step(q->mesh, q->type, &node[parent].step.result, step);
    for (int i = 0; i < *n; i++) {
        if (sharding_equal(&node[i].step.result, &step->result,
                           q->type->rank)) {
            if (cost < node[i].cost)
                node[i] = (Node){cost, parent, false, *step};
            return;
        }
    }
    if (*n < MAX_NODES)
        node[(*n)++] = (Node){cost, parent, false, *step};
}

// The cheapest open node, or -1.
static int cheapest(const Node node[], int n)
{
    int best = -1;
    for (int i = 0; i < n; i++)
        if (!node[i].is_done && (best < 0 || node[i].cost < node[best].cost))
            best = i;
    return best;
}

static void trace_back(const Query *q, const Node node[], int at,
                       ReshardPlan *out)
{
    int path[MAX_NODES], n = 0;
    for (; node[at].parent >= 0; at = node[at].parent)
        path[n++] = at;
    out->n = 0;
    out->bytes = 0;
    while (n-- > 0)
        plan_push(q, out, &node[node[path[n]].parent].step.result,
                  &node[path[n]].step);
}

// Dijkstra's algorithm over shardings.
static bool plan_search(const Query *q, const Sharding *from, ReshardPlan *out)
{
    Node node[MAX_NODES];
    Moves moves;
    int n = 1;
    moves.limit = MAX_MOVES;
    node[0] = (Node){.parent = -1, .step = {.result = *from}};
    for (int at; (at = cheapest(node, n)) >= 0 && n < MAX_NODES;) {
        if (sharding_equal(&node[at].step.result, q->to, q->type->rank)) {
            trace_back(q, node, at, out);
            return true;
        }
        node[at].is_done = true;
        find_moves(q, &node[at].step.result, &moves);
        for (int k = 0; k < moves.n; k++)
            relax(q, node, &n, at, &moves.step[k]);
    }
    return false;
}

// Whether some device held the whole tensor on the way from one split to
// another.
static bool passes_whole(const Query *q, const Sharding *from,
                         const ReshardPlan *p)
{
    int rank = q->type->rank;
    if (!sharding_split_atoms(from, rank) || !sharding_split_atoms(q->to, rank))
        return false;
    for (int i = 0; i + 1 < p->n; i++)
        if (!sharding_split_atoms(&p->step[i].result, rank))
            return true;
    return false;
}

void plan_reshard(const Mesh *m, const Type *t, const Sharding *from,
                  const Sharding *to, ReshardPlan *out)
{
    Query q = {m, t, to};
    if (!plan_search(&q, from, out) && !plan_staged(&q, from, out))
        plan_whole(&q, from, out);
    out->is_whole = passes_whole(&q, from, out);
}

double price_reshard(const Mesh *m, const Type *t, const Sharding *from,
                     const Sharding *to)
{
    ReshardPlan plan;
    Query q = {m, t, to};
    if (sharding_equal(from, to, t->rank))
        return 0;
    if (!plan_staged(&q, from, &plan))
        plan_whole(&q, from, &plan);
    return plan.bytes + step_cost * plan.n;
}
