// The moves of the reshard planner: collectives that bring a sharding nearer
// to the wanted one. Private to planner.c and moves.c.
#pragma once

#include "pass/planner.h"

enum {
    MAX_MOVES = 48,
};

typedef struct Query {
    const Mesh *mesh;
    const Type *type;
    const Sharding *to;
} Query;

typedef struct Moves {
    int n;
    int limit; // no more than that are looked for
    Step step[MAX_MOVES];
} Moves;

// All moves worth trying from s, in the order of the staged plan.
void find_moves(const Query *q, const Sharding *s, Moves *out);

// Single kinds, appended to `out`. An all-gather of atoms of dimension i:
void add_gather(const Query *q, const Sharding *s, int i, AtomSet atoms,
                Moves *out);
// Slices (free axes) or reduce-scatters (pending ones) that extend dimension i:
void add_extensions(const Query *q, const Sharding *s, AtomSet pending, int i,
                    Moves *out);
// All-reduces of pending atoms, the last one of all of them:
void add_reductions(const Query *q, const Sharding *s, AtomSet pending,
                    Moves *out);
