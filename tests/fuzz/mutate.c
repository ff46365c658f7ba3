#include "mutate.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Piece {
    size_t start, end;
} Piece;

static bool is_word(int c)
{
    return isalnum(c) || c == '_' || c == '%' || c == '@';
}

// The word around or after a random byte.
static Piece find_word(const uint8_t *data, size_t size)
{
    Piece p;
    p.start = (size_t)rand() % size;
    while (p.start < size && !is_word(data[p.start]))
        p.start++;
    while (p.start > 0 && p.start < size && is_word(data[p.start - 1]))
        p.start--;
    p.end = p.start;
    while (p.end < size && is_word(data[p.end]))
        p.end++;
    return p;
}

static Piece find_line(const uint8_t *data, size_t size)
{
    Piece p;
    p.start = (size_t)rand() % size;
    while (p.start > 0 && data[p.start - 1] != '\n')
        p.start--;
    p.end = p.start;
    while (p.end < size && data[p.end] != '\n')
        p.end++;
    p.end += p.end < size;
    return p;
}

// Puts n bytes in the place of a piece; the new size.
static size_t put(uint8_t *data, size_t size, size_t max, Piece at,
                  const uint8_t *with, size_t n)
{
    size_t left = size - at.end, now = at.start + n + left;
    if (now > max)
        return size;
    memmove(data + at.start + n, data + at.end, left);
    memcpy(data + at.start, with, n);
    return now;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max,
                               unsigned seed)
{
    char copy[256];
    srand(seed);
    int how = rand() % 8;
    if (!size || how < 2)
        return LLVMFuzzerMutate(data, size, max);
    bool lines = how == 2;
    Piece to = lines ? find_line(data, size) : find_word(data, size);
    Piece from = lines ? find_line(data, size) : find_word(data, size);
    size_t n = from.end - from.start;
    if (n > sizeof copy)
        return LLVMFuzzerMutate(data, size, max);
    memcpy(copy, data + from.start, n);
    if (how == 3 && to.start < to.end && isdigit(data[to.start]))
        n = (size_t)snprintf(copy, sizeof copy, "%d", rand() % 13);
    else if (lines && rand() % 2)
        to.end = to.start; // inserted
    else if (lines && rand() % 2)
        n = 0; // deleted
    return put(data, size, max, to, (const uint8_t *)copy, n);
}
