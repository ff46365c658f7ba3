#include <string.h>

#include "ir/op.h"

const OpInfo *const op_info[NOP] = {
#define OP(name) [OP_##name] = &op_##name,
#include "ir/ops.def"
};

int op_find(const char *name)
{
    for (int i = 0; i < NOP; i++)
        if (strcmp(op_info[i]->name, name) == 0)
            return i;
    return -1;
}
