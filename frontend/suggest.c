// "did you mean": the known word with the smallest edit distance.
#include <string.h>

#include "frontend/elab.h"

enum {
    MAX_WORD = 40,
};

static int least(int a, int b)
{
    return a < b ? a : b;
}

// Levenshtein's distance, but that two swapped neighbours count as one change.
static int distance(const char *a, const char *b)
{
    int n = (int)strlen(a), m = (int)strlen(b);
    int d[MAX_WORD + 1][MAX_WORD + 1];
    for (int i = 0; i <= n; i++) {
        for (int j = 0; j <= m; j++) {
            d[i][j] = i ? i : j;
            if (i == 0 || j == 0)
                continue;
            int gap = least(d[i - 1][j], d[i][j - 1]) + 1;
            d[i][j] = least(gap, d[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
        }
    }
    return d[n][m];
}

const char *nearest(const char *name, const Words *known)
{
    size_t length = strlen(name);
    int limit = length < 3 ? 0 : length < 5 ? 1 : 2;
    const char *best = NULL;
    if (length > MAX_WORD)
        return NULL;
    for (int i = 0; i < known->n; i++) {
        if (strlen(known->at[i]) > MAX_WORD)
            continue;
        int d = distance(name, known->at[i]);
        if (d <= limit) {
            best = known->at[i];
            limit = d - 1;
        }
    }
    return best;
}

const char *suggest(Arena *a, const char *name, const Words *known)
{
    const char *best = nearest(name, known);
    return best ? arena_printf(a, "; did you mean `%s`?", best) : "";
}
