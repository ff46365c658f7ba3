// Reductions and thin products as loops: what steps through what.
#include <assert.h>
#include <string.h>

#include "emit/lower.h"

// The letters of an einsum's operands and result.
typedef struct Spec {
    const char *operand[2];
    const char *result;
} Spec;

static Spec read_spec(const Op *op)
{
    const char *a = op_str(op, A_spec);
    return (Spec){{a, strchr(a, ',') + 1}, strstr(a, "->") + 2};
}

static bool has_letter(const Spec *s, const Op *op, int i, char letter)
{
    return memchr(s->operand[i], letter, (size_t)op->operand[i]->type.rank);
}

// How many values the letters take that the result shares with operand i only.
static int64_t extent(const Spec *s, const Op *op, int i)
{
    int64_t n = 1;
    for (int k = 0; k < op->type.rank; k++)
        if (has_letter(s, op, i, s->result[k]) &&
            !has_letter(s, op, 1 - i, s->result[k]))
            n *= op->type.dim[k];
    return n;
}

bool op_is_thin(const Op *op)
{
    Spec s = read_spec(op);
    return extent(&s, op, 0) == 1 || extent(&s, op, 1) == 1 ||
           type_count(&op->operand[0]->type) == 0 ||
           type_count(&op->operand[1]->type) == 0;
}

// The stride of a letter in operand i; 0 if it is not there.
static int64_t letter_stride(const Spec *s, const Op *op, int i, char letter)
{
    int64_t stride[MAX_RANK], sum = 0;
    row_major(&op->operand[i]->type, stride);
    for (int k = 0; k < op->operand[i]->type.rank; k++)
        if (s->operand[i][k] == letter)
            sum += stride[k];
    return sum;
}

static Contraction contract_product(const Op *op, int i)
{
    Contraction c = {0};
    Spec s = read_spec(op);
    char seen[2 * MAX_RANK + 1] = {0};
    for (int k = 0; k < op->type.rank; k++)
        view_add_loop(&c.kept, op->type.dim[k],
                      letter_stride(&s, op, i, s.result[k]));
    for (int t = 0; t < 2; t++)
        for (int k = 0; k < op->operand[t]->type.rank; k++) {
            char letter = s.operand[t][k];
            if (strchr(s.result, letter) || strchr(seen, letter))
                continue;
            seen[strlen(seen)] = letter;
            c.size[c.nown] = op->operand[t]->type.dim[k];
            c.stride[c.nown++] = letter_stride(&s, op, i, letter);
        }
    return c;
}

static bool is_reduced(const Op *op, int dim)
{
    const Attr *dims = op_attr(op, A_dims);
    for (int i = 0; i < dims->n; i++)
        if (dims->ints[i] == dim)
            return true;
    return false;
}

Contraction op_contraction(const Op *op, int i)
{
    Contraction c = {0};
    int64_t stride[MAX_RANK];
    const Type *in = &op->operand[i]->type;
    if (op_attr(op, A_spec))
        return contract_product(op, i);
    row_major(in, stride);
    for (int k = 0; k < in->rank; k++)
        if (is_reduced(op, k)) {
            c.size[c.nown] = in->dim[k];
            c.stride[c.nown++] = stride[k];
        } else {
            view_add_loop(&c.kept, in->dim[k], stride[k]);
        }
    return c;
}
