// "did you mean": the known word with the smallest edit distance.
#include <stdlib.h>
#include <string.h>

#include "frontend/elab.h"

enum {
    MAX_WORD = 40,
};

// Levenshtein's distance.
static int distance(const char *a, const char *b)
{
    int n = (int)strlen(b);
    int row[MAX_WORD + 1];
    for (int j = 0; j <= n; j++)
        row[j] = j;
    for (int i = 1; a[i - 1]; i++) {
        int before = row[0];
        row[0] = i;
        for (int j = 1; j <= n; j++) {
            int change = before + (a[i - 1] != b[j - 1]);
            before = row[j];
            int gap = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            row[j] = change < gap ? change : gap;
        }
    }
    return row[n];
}

const char *suggest(Arena *a, const char *name, const Words *known)
{
    size_t length = strlen(name);
    int limit = length < 3 ? 0 : length < 5 ? 1 : 2;
    const char *best = NULL;
    if (length > MAX_WORD)
        return "";
    for (int i = 0; i < known->n; i++) {
        if (strlen(known->at[i]) > MAX_WORD)
            continue;
        int d = distance(name, known->at[i]);
        if (d <= limit) {
            best = known->at[i];
            limit = d - 1;
        }
    }
    return best ? arena_printf(a, "; did you mean `%s`?", best) : "";
}
