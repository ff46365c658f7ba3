// Checks and explanations of placements.
#pragma once

#include "frontend/elab.h"

// What the rules did with a tensor: unknown names, rules that could not fire.
void place_check_rules(Elab *e, const Placement *p, const char *const name[],
                       const Resolution *r);
// Dimension i divides over its axes, or an error that lists what does.
void place_check_size(Elab *e, const Placement *p, int i, const Split *s);
// axis_check.c: after elaboration, warns of axes that only one side names.
void axes_check(Elab *e);
