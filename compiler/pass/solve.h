// Placing every value of a function, by price.
//
// The unknowns are the ops' placements (ir/factor.h). An op's result has the
// sharding its placement gives; each user demands the one of its own
// placement, and a reshard stands between where they differ (one for all users
// that demand the same). The price of a program is the wire bytes of these
// reshards, with a little for the work each device does.
//
//   1. Wishes are carried backward through pass-through factors (hints).
//   2. Forward, each op takes the candidate that is cheapest given its
//      operands and the hint on its result. Candidates come from the splits
//      that the factors have in operands, hint and users: factors only.
//   3. Sweeps take an op to another candidate where that makes the whole
//      cheaper, its users counted now, until nothing changes.
//   4. Users of one value move together: what a gather costs too much for one
//      of them, it may be worth for all (share.c); then sweeps again.
//
// This decides conflicts by cost where GSPMD (Xu et al., 2021) and Shardy take
// the first or the larger operand.
#pragma once

#include "ir/factor.h"
#include "pass/pass.h"

typedef struct Use {
    int user; // op id
    int operand;
} Use;

typedef struct OpState {
    bool is_placed;
    bool is_fixed; // by a wish, a param or a loop: never chosen
    bool is_stale; // something around it changed since it was chosen
    Rule *rule;    // NULL if it has none
    Placement *placement;
    Sharding out;           // of the result, as computed
    Sharding *demand;       // of each operand
    const Sharding *shared; // a sharding that is there for any user; or NULL
    bool has_hint;
    bool is_hint_open; // dimensions that it does not split may be split
    Sharding hint;
    VEC(Use) uses;
    bool has_runner;
    Placement *runner; // the second-best candidate, to explain
    double price, runner_price;
} OpState;

enum {
    NPRICE = 8192,
};

typedef struct PriceEntry {
    uint64_t question;
    double price;
} PriceEntry;

typedef struct Change { // of a placement
    int id;
    Placement before; // as much of it as the op's rule has factors
} Change;

typedef VEC(Change) Changes;

typedef struct FuncState {
    Func *func;
    OpState *op;             // by op id
    struct FuncState **body; // by op id: of a scan's function
    Sharding *result_demand; // of each result
    PriceEntry *prices;      // remembered, by hash
    bool keeps_journal;
    Changes journal; // what set_placement changed, in order
} FuncState;

// Solves f; the shardings of its params stand in their ops. Of a loop body the
// first `carry` results are carried: their demands are the shardings of the
// first params, which this sets. 0 for another function.
FuncState *solve_func(PassContext *c, Func *f, int carry);

// Takes op `id` to its cheapest candidate; true if that is for the better.
bool place_op(PassContext *c, FuncState *s, int id);
void set_placement(FuncState *s, int id, const Placement *p);
// Appends the placement that op `id` has.
void note_change(Arena *a, Changes *list, const FuncState *s, int id);

// Takes op `id` to its cheapest candidate that asks for its operand `value` as
// it is shared; false if it has none.
bool place_on_shared(PassContext *c, FuncState *s, int id, const Op *value);

// Moves the users of a value together where that is cheaper; true if any was.
bool share_demands(PassContext *c, FuncState *s);

// The price of what stands between a value and its users, and of its work.
double price_value(const FuncState *s, int id);

// Candidates of op `id`, each tried by `visit`.
typedef void VisitFn(void *user, const Placement *p);
void for_each_candidate(const PassContext *c, const FuncState *s, int id,
                        VisitFn *visit, void *user);

// The price of op `id` under a placement: its reshards on both sides, and its
// work.
double price_placement(const FuncState *s, int id, const Placement *p);
