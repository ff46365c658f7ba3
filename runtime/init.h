// First values of parameters and states, each device making its own part.
//
// Entry i of a tensor, counted in global shape, is a function of the seed, the
// tensor's name and i: the same on any mesh.
//   normal            deviation * quantile(u)
//   truncated_normal  deviation * quantile(P(-2) + u (P(2) - P(-2))) / 0.8796..
// where u is uniform in (0, 1), P the normal distribution, and the divisor the
// deviation of what is cut at two.
#pragma once

#include "runtime/program.h"

void rt_init(const RtProgram *p, const RtTensor *t, uint64_t seed,
             int64_t device, char *local);
