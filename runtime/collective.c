#include "runtime/collective.h"

#include <assert.h>
#include <string.h>

#include "runtime/devices.h"
#include "runtime/reduce.h"

enum {
    TILE = 4 * 1024, // what is read or written several times stays in L1
    ALIGN = 64,      // workers' parts meet at a cache line
};

// Lines of a transfer, from a place in it on.
typedef struct Block {
    int64_t source;
    int64_t result;
    int64_t run;
    int64_t rows;
} Block;

// One transfer: pointers are to the start of a part.
typedef struct Unit {
    const char **source;
    int nsource;
    char **result;
    int nresult;
} Unit;

static int64_t product(const int64_t dim[], int from, int to)
{
    int64_t n = 1;
    for (int i = from; i < to; i++)
        n *= dim[i];
    return n;
}

static int64_t min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

// A part is D[split] / n long there; parts are put together along `concat`.
//   split < concat   [outer, (split, between), concat, inner]
//   split > concat   [outer, (concat, between), split, inner]
static void set_all_to_all(Exchange *x, int64_t bytes)
{
    const RtCollective *c = x->c;
    int s = c->split_dim, t = c->concat_dim;
    int major = s < t ? s : t, minor = s < t ? t : s;
    int64_t inner = product(c->dim, minor + 1, c->rank) * bytes;
    int64_t between = product(c->dim, major + 1, minor);
    x->outer = product(c->dim, 0, major);
    if (s == t) {
        x->run = c->dim[s] / x->n * inner;
        x->source_step = x->result_step = x->run;
        x->source_outer = x->result_outer = x->n * x->run;
    } else if (s < t) {
        x->rows = c->dim[s] / x->n * between;
        x->run = c->dim[t] * inner;
        x->source_row = x->run;
        x->source_step = x->rows * x->run;
        x->result_row = x->n * x->run;
        x->result_step = x->run;
    } else {
        x->rows = c->dim[t] * between;
        x->run = c->dim[s] / x->n * inner;
        x->source_row = x->n * x->run;
        x->source_step = x->run;
        x->result_row = x->run;
        x->result_step = x->rows * x->run;
    }
    if (s != t)
        x->source_outer = x->result_outer = x->n * x->rows * x->run;
}

// Blocks that lie as lines do become lines, lines that touch one long line.
static void merge_lines(Exchange *x)
{
    if (x->rows == 1) {
        x->rows = x->outer;
        x->source_row = x->source_outer;
        x->result_row = x->result_outer;
        x->outer = 1;
    }
    if (x->rows == 1 || (x->source_row == x->run && x->result_row == x->run)) {
        x->run *= x->rows;
        x->rows = 1;
    }
}

Exchange exchange_of(const RtProgram *p, const RtCollective *c)
{
    Exchange x = {.c = c, .n = rt_pieces(p, &c->group), .outer = 1, .rows = 1};
    int64_t bytes = rt_dtype_bytes(c->dtype);
    int s = c->split_dim, t = c->concat_dim;
    switch ((RtCollectiveKind)c->kind) {
    case RT_ALL_GATHER:
        x.to_all = true;
        x.outer = product(c->dim, 0, t);
        x.run = product(c->dim, t, c->rank) * bytes;
        x.source_outer = x.result_step = x.run;
        x.result_outer = x.n * x.run;
        break;
    case RT_REDUCE_SCATTER:
        assert(c->dim[s] % x.n == 0);
        x.from_all = true;
        x.outer = product(c->dim, 0, s);
        x.run = product(c->dim, s, c->rank) / x.n * bytes;
        x.result_outer = x.source_step = x.run;
        x.source_outer = x.n * x.run;
        break;
    case RT_ALL_REDUCE:
        x.to_all = x.from_all = true;
        x.run = product(c->dim, 0, c->rank) * bytes;
        break;
    case RT_ALL_TO_ALL:
        assert(c->dim[s] % x.n == 0);
        set_all_to_all(&x, bytes);
        break;
    case RT_COLLECTIVE_PERMUTE: // among all devices
        x.n = p->ndevice;
        x.run = product(c->dim, 0, c->rank) * bytes;
        break;
    }
    merge_lines(&x);
    return x;
}

// What lies at `at` of a transfer: the rest of a line, or some whole lines.
static Block block_at(const Exchange *x, int64_t at, int64_t end)
{
    int64_t line = at / x->run, skip = at % x->run;
    int64_t o = line / x->rows, r = line % x->rows;
    Block b = {
        .source = o * x->source_outer + r * x->source_row + skip,
        .result = o * x->result_outer + r * x->result_row + skip,
        .run = min(x->run - skip, end - at),
        .rows = 1,
    };
    if (b.run == x->run)
        b.rows = min(x->rows - r, (end - at) / x->run);
    return b;
}

static void copy_lines(const Exchange *x, const Block *b, const Unit *u)
{
    for (int k = 0; k < u->nresult; k++) {
        const char *from = u->source[0] + b->source;
        char *to = u->result[k] + b->result;
        for (int64_t r = 0; r < b->rows; r++) {
            memcpy(to, from, (size_t)b->run);
            from += x->source_row;
            to += x->result_row;
        }
    }
}

static void reduce_lines(const Exchange *x, const Block *b, const Unit *u)
{
    for (int64_t r = 0; r < b->rows; r++) {
        int64_t at = b->result + r * x->result_row;
        char *first = u->result[0] + at;
        RtSources s = {u->source, u->nsource, b->source + r * x->source_row};
        rt_reduce(x->c->dtype, x->c->combine, s, first, b->run);
        for (int k = 1; k < u->nresult; k++)
            memcpy(u->result[k] + at, first, (size_t)b->run);
    }
}

static void transfer(const Exchange *x, const Unit *u, int64_t from, int64_t to)
{
    bool is_copy = u->nsource == 1 && u->nresult == 1;
    while (from < to) {
        int64_t tile = is_copy ? to - from : TILE;
        Block b = block_at(x, from, min(to, from + tile));
        if (x->from_all)
            reduce_lines(x, &b, u);
        else
            copy_lines(x, &b, u);
        from += b.run * b.rows;
    }
}

static bool is_permute(const Exchange *x)
{
    return x->c->kind == RT_COLLECTIVE_PERMUTE;
}

// Transfers to one reader.
static int64_t sources_of(const Exchange *x)
{
    return is_permute(x) || x->from_all ? 1 : x->n;
}

// Members of the group of `device`, in order.
static void set_members(const Execution *e, int64_t device)
{
    const Exchange *x = e->exchange;
    for (int64_t k = 0; k < x->n; k++)
        e->share.member[k] =
            is_permute(x) ? k : rt_peer(e->program, &x->c->group, device, k);
}

// The transfer from member j to member k; all of them where x says so.
static Unit make_unit(const Execution *e, int64_t k, int64_t j)
{
    const Exchange *x = e->exchange;
    const RtCollective *c = x->c;
    const Share *s = &e->share;
    if (is_permute(x))
        j = rt_peer(e->program, &c->group, k, rt_piece(e->program, &c->to, k));
    bool to_all = x->to_all && s->device < 0;
    Unit u = {s->source, x->from_all ? (int)x->n : 1, s->result,
              to_all ? (int)x->n : 1};
    for (int i = 0; i < u.nsource; i++) {
        int64_t device = s->member[x->from_all ? i : j];
        u.source[i] = rt_address(e->memory, &c->source, device, e->iter) +
                      k * x->source_step;
    }
    for (int i = 0; i < u.nresult; i++) {
        int64_t device = s->member[to_all ? i : k];
        u.result[i] = rt_address(e->memory, &c->result, device, e->iter) +
                      j * x->result_step;
    }
    return u;
}

// All that one device reads.
static void run_reader(const Execution *e, int64_t device)
{
    const Exchange *x = e->exchange;
    int64_t k =
        is_permute(x) ? device : rt_piece(e->program, &x->c->group, device);
    set_members(e, device);
    for (int64_t j = 0; j < sources_of(x); j++) {
        Unit u = make_unit(e, k, j);
        transfer(x, &u, 0, x->outer * x->rows * x->run);
    }
}

// The part from .. to of one group's units, laid end to end: readers major.
static void run_group(const Execution *e, int64_t from, int64_t to)
{
    const Exchange *x = e->exchange;
    int64_t bytes = x->outer * x->rows * x->run;
    while (from < to) {
        int64_t unit = from / bytes;
        int64_t start = unit * bytes;
        int64_t end = min(to, start + bytes);
        Unit u = make_unit(e, unit / sources_of(x), unit % sources_of(x));
        transfer(x, &u, from - start, end - start);
        from = end;
    }
}

static int64_t cut(int64_t all, int64_t i, int64_t n)
{
    return i == n ? all : (all / n * i + all % n * i / n) / ALIGN * ALIGN;
}

// A worker's share of all groups, laid end to end.
static void run_share(const Execution *e)
{
    const Exchange *x = e->exchange;
    const RtProgram *p = e->program;
    int64_t readers = x->to_all ? 1 : x->n;
    int64_t group = readers * sources_of(x) * x->outer * x->rows * x->run;
    int64_t all = p->ndevice / x->n * group;
    int64_t from = cut(all, e->share.worker, e->share.nworker);
    int64_t to = cut(all, e->share.worker + 1, e->share.nworker);
    for (int64_t d = 0, at = 0; d < p->ndevice && at < to; d++) {
        if (!is_permute(x) && rt_piece(p, &x->c->group, d) != 0)
            continue; // in the group of an earlier device
        if (at + group > from) {
            set_members(e, d);
            run_group(e, from > at ? from - at : 0, min(to - at, group));
        }
        at += group;
    }
}

void exchange_run(const Execution *e)
{
    const Exchange *x = e->exchange;
    if (x->outer * x->rows * x->run == 0)
        return;
    if (e->share.device >= 0)
        run_reader(e, e->share.device);
    else
        run_share(e);
}
