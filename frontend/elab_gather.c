// t[ids[b, s], e]: rows of a table by number.
//
// Indices that table and ids share are the gather's batch: both operands are
// brought to [shared.., rest..], the table with the gathered dimension first
// among its rest.
#include "frontend/elab.h"

typedef struct Order {
    int n;
    int from[MAX_RANK];
} Order;

static int find_label(const Value *v, int label)
{
    for (int i = 0; i < v->rank; i++)
        if (v->dim[i].label == label)
            return i;
    return -1;
}

static bool is_in(const Order *o, int dim)
{
    for (int i = 0; i < o->n; i++)
        if (o->from[i] == dim)
            return true;
    return false;
}

static void append_others(Order *o, const Value *v)
{
    for (int i = 0; i < v->rank; i++)
        if (!is_in(o, i))
            o->from[o->n++] = i;
}

static Value permute(Elab *e, Span at, const Value *v, const Order *o)
{
    Value to = *v;
    int64_t size[MAX_RANK];
    for (int i = 0; i < o->n; i++) {
        to.dim[i] = v->dim[o->from[i]];
        size[i] = value_dim(v, o->from[i]);
    }
    to.op = emit_arrange(e, at, v->op, o->n, o->from, size);
    return to;
}

Value eval_gather(Elab *e, Span at, Value table, int dim, Value ids)
{
    ids = realize(e, at, ids);
    Order t = {0}, i = {0};
    for (int k = 0; k < table.rank; k++) {
        int of_ids = k == dim || table.dim[k].label < 0
                         ? -1
                         : find_label(&ids, table.dim[k].label);
        if (of_ids < 0)
            continue;
        t.from[t.n++] = k;
        i.from[i.n++] = of_ids;
    }
    int batch = t.n;
    t.from[t.n++] = dim;
    append_others(&t, &table);
    append_others(&i, &ids);
    Value from = permute(e, at, &table, &t), to = permute(e, at, &ids, &i);
    if (to.rank + from.rank - batch - 1 > MAX_RANK)
        return elab_fail(e, at, "the result has more than %d dimensions",
                         MAX_RANK);
    Op *op = emit(e, at, OP_gather, 2, (Op *[]){from.op, to.op});
    if (!op)
        return (Value){0};
    op_set_int(e->func, op, A_batch, batch);
    if (!emit_done(e, op))
        return (Value){0};
    Value v = value_tensor(op);
    for (int k = 0; k < to.rank; k++)
        v.dim[k] = to.dim[k];
    for (int k = batch + 1; k < from.rank; k++)
        v.dim[to.rank + k - batch - 1] = from.dim[k];
    return v;
}
