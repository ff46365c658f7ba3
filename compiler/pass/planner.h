// The reshard planner: the cheapest collectives from one sharding to another.
//
// Price is wire bytes per device by the ring algorithms: (n-1)/n of the result
// for an all-gather, of the input for a reduce-scatter, twice that for an
// all-reduce, of the local tensor for an all-to-all, all of it for a permute;
// a slice is free. A best-first search over shardings finds the cheapest
// plan; where it would grow too large, the staged plan stands (reduce-scatter,
// slice, all-to-all, permute, all-reduce, gather), and where even that finds
// no step, whole dimensions are gathered and sliced again, which always ends.
#pragma once

#include "ir/graph.h"

enum {
    MAX_STEPS = 24,
};

typedef struct Step {
    OpCode code;
    Split axes; // collective_permute: from
    Split to;   // collective_permute
    int split_dim, concat_dim;
    Sharding result;
} Step;

typedef struct ReshardPlan {
    int n;
    Step step[MAX_STEPS];
    double bytes;  // wire, per device
    bool is_whole; // had to gather a tensor that is split before and after
} ReshardPlan;

// `to` may keep pending atoms of `from`, but have no others.
void plan_reshard(const Mesh *m, const Type *t, const Sharding *from,
                  const Sharding *to, ReshardPlan *out);

// The price of the staged plan: what propagation compares.
double price_reshard(const Mesh *m, const Type *t, const Sharding *from,
                     const Sharding *to);

// Wire bytes of one step on a value of type t placed as `from`.
double price_step(const Mesh *m, const Type *t, const Sharding *from,
                  const Step *s);

// Bytes of one device's part, padding included.
int64_t local_bytes(const Mesh *m, const Type *t, const Sharding *s);

// Whether a dimension split as `a` can be split as `b`, a prefix or extension
// of it, without moving data between devices' padded blocks.
bool split_is_aligned(const Mesh *m, int64_t size, const Split *a,
                      const Split *b);
