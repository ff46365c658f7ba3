// Arithmetic on device numbers: the tables of a program, pieces and groups.
#pragma once

#include "runtime/program.h"

const RtStep *rt_steps(const RtProgram *p);
const RtCollective *rt_collectives(const RtProgram *p);
const RtTensor *rt_tensors(const RtProgram *p);
const RtConstant *rt_constants(const RtProgram *p);
const RtProbe *rt_probes(const RtProgram *p); // if p->probes is not 0

int64_t rt_dtype_bytes(int dtype);
extern const char *const rt_dtype_name[];
extern const char *const rt_collective_name[];

// The number of pieces a split makes: the product of its atoms' sizes.
int64_t rt_pieces(const RtProgram *p, const RtSplit *s);
// A device's piece: its coordinates in the atoms of `s` read major first.
int64_t rt_piece(const RtProgram *p, const RtSplit *s, int64_t device);
// The device that has piece k and differs from `device` in atoms of `s` alone.
int64_t rt_peer(const RtProgram *p, const RtSplit *s, int64_t device,
                int64_t k);
// Where entry i of a dimension of `local` entries lies in the whole dimension,
// maybe in the padding at its end. As split_index in ir/sharding.c.
int64_t rt_split_index(const RtProgram *p, const RtSplit *s, int64_t local,
                       int64_t device, int64_t i);
