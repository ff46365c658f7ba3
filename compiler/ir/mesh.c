#include "ir/mesh.h"

#include <string.h>

// Strides of all atoms: the last atom of the last axis is the minor one.
static void set_strides(Mesh *m)
{
    m->ndevice = 1;
    for (int i = m->natom - 1; i >= 0; i--) {
        m->atom[i].stride = m->ndevice;
        m->ndevice *= m->atom[i].size;
    }
}

bool mesh_add_axis(Mesh *m, const char *name, int size)
{
    if (m->naxis == MAX_AXES || size < 1 || mesh_find(m, name) >= 0)
        return false;
    int first = m->natom;
    int rest = size;
    for (int p = 2; rest > 1; p++) {
        if (p > rest / p)
            p = rest; // what is left is a prime
        for (; rest % p == 0; rest /= p) {
            if (m->natom == MAX_ATOMS) {
                m->natom = first;
                return false;
            }
            m->atom[m->natom++] = (Atom){.axis = m->naxis, .size = p};
        }
    }
    m->axis[m->naxis++] = (Axis){name, size, first, m->natom - first};
    set_strides(m);
    return true;
}

int mesh_find(const Mesh *m, const char *name)
{
    for (int i = 0; i < m->naxis; i++)
        if (strcmp(m->axis[i].name, name) == 0)
            return i;
    return -1;
}

int mesh_coord(const Mesh *m, int64_t device, int atom)
{
    return (int)(device / m->atom[atom].stride % m->atom[atom].size);
}
