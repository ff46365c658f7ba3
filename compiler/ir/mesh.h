// The mesh: devices as a grid with named axes, cut into prime atoms.
//
// Each axis is cut into ordered prime atoms, major first (8 -> 2 2 2), so that
// sub-axes, prefixes and overlap are list and bit operations on atoms.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

enum {
    MAX_AXES = 16,
    MAX_ATOMS = 48,
};

typedef struct Axis {
    const char *name;
    int size;
    int atom;  // its first atom
    int natom; // 0 if the size is 1
} Axis;

typedef struct Atom {
    int axis;
    int size;       // a prime
    int64_t stride; // device ids between neighbours
} Atom;

// Axis 0 is the major one of the device id.
typedef struct Mesh {
    int naxis;
    Axis axis[MAX_AXES];
    int natom;
    Atom atom[MAX_ATOMS];
    int64_t ndevice;
} Mesh;

// Adds an axis; false if there is no room for it or the name is taken.
bool mesh_add_axis(Mesh *m, const char *name, int size);
int mesh_find(const Mesh *m, const char *name); // -1 if none

// The coordinate of a device along an atom.
int mesh_coord(const Mesh *m, int64_t device, int atom);
