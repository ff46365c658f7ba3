// Offsets of buffers: those that are in use at the same time lie apart.
//
// Larger buffers are placed first, each at the lowest offset that is free for
// the steps between its first and its last use (greedy by size, as in Pisarchyk
// and Lee, 2020). A result lies where an operand of an elementwise kernel lay,
// if that ends there. What a loop uses and others have written lives until the
// loop ends.
#include <stdlib.h>

#include "emit/gemm_size.h"
#include "emit/value.h"

enum {
    ALIGN = 64,
};

Buffer *buffer_root(Buffer *b)
{
    while (b->alias)
        b = b->alias;
    return b;
}

Buffer *plan_buffer(Plan *p, const char *name, BufferClass c, int64_t bytes)
{
    Buffer *b = arena_new(p->arena, Buffer, 1);
    *b = (Buffer){.name = name, .class_ = c, .bytes = bytes};
    b->first = -1;
    b->last = -2;
    b->is_kept = c != BUFFER_temporary;
    vec_push(p->arena, &p->buffers, b);
    return b;
}

static void use(Buffer *b, int step)
{
    if (!b)
        return;
    b = buffer_root(b);
    if (b->first < 0)
        b->first = step;
    b->last = step;
}

static void find_uses(Plan *p)
{
    for (int i = 0; i < p->steps.n; i++) {
        const Step *s = &p->steps.at[i];
        if (s->kind == RT_KERNEL) {
            const Kernel *k = p->kernels.at[s->index];
            for (int n = 0; n < k->access.n; n++)
                use(k->access.at[n].buffer, i);
            use(k->scratch, i);
        } else if (s->kind == RT_COLLECTIVE) {
            use(p->transfers.at[s->index]->source, i);
            use(p->transfers.at[s->index]->result, i);
        }
    }
}

// A buffer from before a loop that is used in it is needed in every turn, and
// so is one that a loop fills for later.
static void stretch_over_loops(Plan *p)
{
    for (int i = p->steps.n - 1; i >= 0; i--) {
        const Step *s = &p->steps.at[i];
        int end = i + s->index;
        for (int n = 0; s->kind == RT_LOOP && n < p->buffers.n; n++) {
            Buffer *b = p->buffers.at[n];
            if (b->first < i && b->last > i && b->last < end)
                b->last = end;
            if (b->first > i && b->first <= end && b->last > end)
                b->first = i;
        }
    }
}

bool kernel_reads_in_place(const Kernel *k, int access)
{
    const Nest *n = k->nest;
    const Access *in = &k->access.at[access], *out = &k->access.at[0];
    if (!n || (k->product && access >= k->access.n - 2) ||
        dtype_bytes[in->dtype] != dtype_bytes[out->dtype] ||
        !view_equal(&in->view, &out->view))
        return false;
    for (int i = 0; i < n->nnode; i++)
        if (n->node[i].own)
            return false;
    return true;
}

// Whether b is used for the last time by the kernel of a step, which may write
// its result there.
static bool can_take(const Kernel *k, int step, const Buffer *result, Buffer *b)
{
    if (b == result || b->is_kept || b->last != step || b->alias ||
        b->bytes != result->bytes || b->is_shared != result->is_shared ||
        (k->scratch && buffer_root(k->scratch) == b))
        return false;
    for (int i = 1; i < k->access.n; i++) {
        Buffer *other = k->access.at[i].buffer;
        if (other && buffer_root(other) == b && !kernel_reads_in_place(k, i))
            return false;
    }
    return true;
}

int loop_around(const Plan *p, int step)
{
    int first = 0;
    for (int i = 0; i < step; i++) {
        const Step *s = &p->steps.at[i];
        if (s->kind == RT_LOOP && step <= i + s->index)
            first = i + 1;
    }
    return first;
}

// A result takes the place of an operand of the same size that ends with it.
static void reuse_operands(Plan *p)
{
    for (int i = 0; i < p->steps.n; i++) {
        if (p->steps.at[i].kind != RT_KERNEL)
            continue;
        const Kernel *k = p->kernels.at[p->steps.at[i].index];
        Buffer *result = buffer_root(k->access.at[0].buffer);
        if (result->first != i || result->is_kept)
            continue;
        for (int n = 1; n < k->access.n; n++) {
            Buffer *b = k->access.at[n].buffer;
            b = b ? buffer_root(b) : result;
            if (b->first < loop_around(p, i) || !can_take(k, i, result, b))
                continue;
            result->alias = b;
            b->last = result->last;
            break;
        }
    }
}

static bool overlap(const Buffer *a, const Buffer *b)
{
    return a->first <= b->last && b->first <= a->last;
}

static int by_size(const void *x, const void *y)
{
    const Buffer *a = *(Buffer *const *)x, *b = *(Buffer *const *)y;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? 1 : -1;
    return a->first - b->first;
}

static int by_offset(const void *x, const void *y)
{
    const Buffer *a = *(Buffer *const *)x, *b = *(Buffer *const *)y;
    return a->at < b->at ? -1 : a->at > b->at;
}

// placed: by offset. Returns the lowest free offset for b.
static int64_t find_offset(Buffer *const placed[], int n, const Buffer *b)
{
    int64_t at = 0;
    for (int i = 0; i < n; i++) {
        if (placed[i]->is_shared != b->is_shared || !overlap(placed[i], b))
            continue;
        if (placed[i]->at >= at + b->bytes)
            break;
        int64_t end = placed[i]->at + placed[i]->bytes;
        if (end > at)
            at = round_up(end, ALIGN);
    }
    return at;
}

static void insert(Buffer *placed[], int n, Buffer *b)
{
    placed[n] = b;
    for (int i = n; i > 0 && by_offset(&placed[i - 1], &placed[i]) > 0; i--) {
        Buffer *other = placed[i - 1];
        placed[i - 1] = placed[i];
        placed[i] = other;
    }
}

static void merge_aliases(Plan *p)
{
    for (int i = 0; i < p->buffers.n; i++) {
        Buffer *b = p->buffers.at[i], *root = buffer_root(b);
        root->is_shared |= b->is_shared;
        root->is_kept |= b->is_kept;
    }
}

void place_buffers(Plan *p)
{
    int n = 0;
    Buffer **order = arena_new(p->arena, Buffer *, (size_t)p->buffers.n + 1);
    Buffer **placed = arena_new(p->arena, Buffer *, (size_t)p->buffers.n + 1);
    merge_aliases(p);
    find_uses(p);
    stretch_over_loops(p);
    reuse_operands(p);
    for (int i = 0; i < p->buffers.n; i++) {
        Buffer *b = p->buffers.at[i];
        if (b->is_kept)
            b->first = 0, b->last = p->steps.n;
        if (!b->alias && b->last >= b->first)
            order[n++] = b;
    }
    qsort(order, (size_t)n, sizeof(Buffer *), by_size);
    for (int i = 0; i < n; i++) {
        Buffer *b = order[i];
        b->at = find_offset(placed, i, b);
        insert(placed, i, b);
        if (p->bytes[b->is_shared] < b->at + b->bytes)
            p->bytes[b->is_shared] = b->at + b->bytes;
    }
    for (int i = 0; i < p->buffers.n; i++) {
        Buffer *root = buffer_root(p->buffers.at[i]);
        p->buffers.at[i]->at = root->at + p->buffers.at[i]->start;
        p->buffers.at[i]->is_shared = root->is_shared;
    }
}
