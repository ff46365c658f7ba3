// Logical axis rules: from the names on a tensor's dimensions to mesh axes.
//
// The rules are walked in order, not the dimensions (after flax and MaxText):
// a rule fires if its name occurs in the tensor, that dimension is unassigned,
// and none of its axes is used by this tensor yet; then it assigns all its
// axes. A rule with one used axis is skipped whole; a later rule of the same
// name may fire. Axes of size 1, and axes the mesh lacks, take part and are
// dropped afterwards.
#pragma once

#include "frontend/frontend.h"

enum {
    MAX_RULE_AXES = 16,
};

typedef struct AxisRule {
    const char *logical;
    int naxis;
    const char *axis[MAX_RULE_AXES]; // major first
    Span axis_at[MAX_RULE_AXES];
    Span at;
} AxisRule;

struct Rules {
    const char *name;
    VEC(AxisRule) rules; // bases first
    VEC(Alias) aliases;  // the last of a name holds
};

// Why a rule did or did not give its axes to a dimension.
typedef enum RuleVerdict {
    RULE_FIRED,
    RULE_DIM_TAKEN, // an earlier rule assigned the dimension
    RULE_AXIS_TAKEN, // `axis` is used by dimension `by`
} RuleVerdict;

typedef struct RuleTrial {
    int rule; // index into rules->rules
    int dim;
    RuleVerdict verdict;
    const char *axis;
    int by;
} RuleTrial;

typedef struct Resolution {
    int ndim;
    const AxisRule *fired[MAX_RANK]; // NULL: no rule fired
    bool known[MAX_RANK];            // some rule (or alias) has this name
    VEC(RuleTrial) trials;           // in order, for explain
} Resolution;

// What a name stands for: itself, or what its alias means.
const char *rules_meaning(const Rules *r, const char *name);

// Resolves the names of a tensor's dimensions; NULL or "_" is no name.
Resolution rules_resolve(Arena *a, const Rules *r, int ndim,
                         const char *const logical[]);

// The mesh atoms of one resolved dimension: axes the mesh lacks or that have
// size 1 are dropped.
Split resolution_split(const Resolution *res, int dim, const Mesh *m);

// Prints for each dimension the rules tried, why each was skipped, and the
// split that came of it.
void resolution_explain(const Rules *r, const Resolution *res,
                        const char *const logical[], const Mesh *m, FILE *out);
