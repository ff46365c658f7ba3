#include "emit/nest.h"

static bool steps_as_one(const int64_t stride[], int64_t size, int outer,
                         int inner)
{
    return stride[outer] == stride[inner] * size;
}

static uint32_t owner_of(const Nest *n, int loop)
{
    for (int i = 0; i < n->nnode; i++)
        if (n->node[i].own >> loop & 1)
            return n->node[i].own;
    return 0;
}

// Whether loops i and i + 1 can be one loop.
static bool can_join(const Nest *n, int i)
{
    if (i + 1 == n->nroot || i + 1 >= n->nloop ||
        owner_of(n, i) != owner_of(n, i + 1))
        return false;
    if (i + 1 < n->nroot && !steps_as_one(n->out, n->size[i + 1], i, i + 1))
        return false;
    for (int k = 0; k < n->nnode; k++)
        if (!steps_as_one(n->node[k].stride, n->size[i + 1], i, i + 1))
            return false;
    return true;
}

static uint32_t without_bit(uint32_t set, int i)
{
    uint32_t low = set & ((1u << i) - 1);
    return low | (set >> (i + 1) << i);
}

static void drop_stride(int64_t stride[], int i)
{
    for (; i + 1 < MAX_LOOPS; i++)
        stride[i] = stride[i + 1];
    stride[MAX_LOOPS - 1] = 0;
}

static void drop_loop(Nest *n, int i)
{
    for (int k = 0; k < n->nnode; k++) {
        Node *node = &n->node[k];
        drop_stride(node->stride, i);
        node->loops = without_bit(node->loops, i);
        node->own = without_bit(node->own, i);
    }
    drop_stride(n->out, i);
    drop_stride(n->size, i);
    if (i < n->nroot)
        n->nroot--;
    n->nloop--;
}

void nest_simplify(Nest *n)
{
    for (int i = n->nloop - 1; i >= 0; i--)
        if (n->size[i] == 1)
            drop_loop(n, i);
    for (int i = n->nloop - 2; i >= 0; i--)
        if (can_join(n, i)) {
            n->size[i + 1] *= n->size[i];
            drop_loop(n, i);
        }
}
