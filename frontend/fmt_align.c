// Aligning the cells of neighbouring lines.
//
// Each kind of cell in turn: it starts where the longest line of the run, so
// far, ends. A line that sticks out by more than MAX_PAD is left alone.
#include "frontend/fmt.h"

enum {
    MAX_PAD = 40,
};

// Characters, not bytes: what continues a UTF-8 character takes no room.
static int width(const Text *t)
{
    int n = 0;
    for (int i = 0; i < t->n; i++)
        n += ((unsigned char)t->at[i] & 0xc0) != 0x80;
    return n;
}

// Widens the gaps before cell `c` so that it starts at one column; `end` is
// where the cell itself ends on the lines before, then after, this call.
static void align_cell(Line line[], int n, int c, int end[])
{
    int least = -1, most = 0;
    for (int i = 0; i < n; i++) {
        int start = end[i] + line[i].gap[c];
        if (line[i].cell[c].n && (least < 0 || start < least))
            least = start;
    }
    for (int i = 0; i < n; i++) {
        int start = end[i] + line[i].gap[c];
        if (line[i].cell[c].n && start <= least + MAX_PAD && start > most)
            most = start;
    }
    for (int i = 0; i < n; i++) {
        if (line[i].cell[c].n == 0)
            continue;
        if (end[i] + line[i].gap[c] < most)
            line[i].gap[c] = most - end[i];
        end[i] += line[i].gap[c] + width(&line[i].cell[c]);
    }
}

static bool same_run(const Line *a, const Line *b)
{
    return a->kind == b->kind && a->indent == b->indent && !b->blank_before;
}

static void print_line(const Line *line, bool is_first, FILE *out)
{
    if (line->blank_before && !is_first)
        fputc('\n', out);
    fprintf(out, "%*s", line->indent, "");
    for (int c = 0; c < MAX_CELLS; c++) {
        const Text *t = &line->cell[c];
        if (t->n)
            fprintf(out, "%*s%.*s", line->gap[c], "", t->n, t->at);
    }
    fputc('\n', out);
}

void fmt_print(Arena *a, Lines *lines, FILE *out)
{
    int *end = arena_new(a, int, (size_t)lines->n + 1);
    for (int i = 0, n; i < lines->n; i += n) {
        Line *run = &lines->at[i];
        n = 1;
        while (i + n < lines->n && same_run(run, run + n))
            n++;
        for (int c = 0; c < MAX_CELLS; c++)
            align_cell(run, n, c, end + i);
    }
    for (int i = 0; i < lines->n; i++)
        print_line(&lines->at[i], i == 0, out);
}
