// Shardings: where the pieces of a value live.
//
// A dimension's split is an ordered list of items, major first. An item is an
// atom of the mesh or a gap: a factor of the dimension that stays whole.
//   16@(x, y)   device (i, j) holds one contiguous run
//   16@(2, x)   the dimension as 2 x (x) x rest: a strided set of indices
// A trailing gap means nothing and is never kept; neighbouring gaps are one.
// An atom splits at most one dimension; atoms in no dimension are replicated,
// except that partial atoms hold addends that are still to be combined.
// After GSPMD (Xu et al., 2021) and Shardy's sub-axes and unreduced axes.
#pragma once

#include "ir/mesh.h"
#include "ir/type.h"

enum {
    MAX_ITEMS = 24,
};

typedef struct Split {
    int n;
    int32_t item[MAX_ITEMS]; // >= 0 an atom, < 0 a gap of that many
} Split;

typedef enum Combiner {
    COMBINE_sum,
    COMBINE_max,
    COMBINE_min,
    NCOMBINER,
} Combiner;

typedef uint64_t AtomSet;

typedef struct Sharding {
    Split dim[MAX_RANK];
    AtomSet partial;
    Combiner combiner; // of the partial atoms
} Sharding;

extern const char *const combiner_name[];

bool split_equal(const Split *a, const Split *b);
bool split_has_gap(const Split *s);
// Whether the gaps, if any, and the atoms divide the dimension evenly.
bool split_gaps_fit(const Mesh *m, const Split *s, int64_t size);
bool split_is_distinct(const Split *s); // no atom stands twice
AtomSet split_atoms(const Split *s);
// The number of pieces: the product of the atoms' sizes.
int64_t split_pieces(const Mesh *m, const Split *s);
// Appends an item; joins gaps (to at most INT32_MAX). The caller trims a
// trailing gap.
void split_push(Split *s, int32_t item);
void split_trim(Split *s);
// Takes atoms out; where others follow, a gap stays. False if one is not there.
bool split_take_out(const Mesh *m, Split *s, AtomSet atoms);
// The split by all atoms of one axis.
Split split_of_axis(const Mesh *m, int axis);
void split_append(Split *s, const Split *more);

// Entries of one device along a dimension of `size`, padding included: the
// same on each device.
int64_t split_local(const Mesh *m, const Split *s, int64_t size);
// local * pieces: `size` and the padding at its end.
int64_t split_padded(const Mesh *m, const Split *s, int64_t size);
// Where entry `i` of `device` lies in the whole dimension (maybe in padding).
int64_t split_index(const Mesh *m, const Split *s, int64_t size, int64_t device,
                    int64_t i);

bool sharding_equal(const Sharding *a, const Sharding *b, int rank);
AtomSet sharding_split_atoms(const Sharding *s, int rank);
AtomSet sharding_atoms(const Sharding *s, int rank); // split or partial
bool sharding_is_whole(const Sharding *s, int rank); // nothing split, partial
Type type_local(const Mesh *m, const Type *t, const Sharding *s);

// `8@fsdp`: prints "fsdp", "(x,y)", "(2,x)", "tensor:(1)2"; nothing if whole.
void split_print(const Mesh *m, const Split *s, FILE *f);
// Axes of a set in mesh order, as `fsdp, tensor`.
void atoms_print(const Mesh *m, AtomSet set, FILE *f);
// f32[8@fsdp, 16]{sum: tensor}; `s` may be NULL.
void type_print(const Mesh *m, const Type *t, const Sharding *s, FILE *f);
char *type_string(Arena *a, const Mesh *m, const Type *t, const Sharding *s);
char *split_string(Arena *a, const Mesh *m, const Split *s);
