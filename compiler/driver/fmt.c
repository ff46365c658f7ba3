// shardc fmt: a model in the one layout.
#include <stdlib.h>
#include <string.h>

#include "driver/driver.h"
#include "frontend/frontend.h"
#include "runtime/outfile.h"

// Writes the text in the place of the file, whole or not at all.
static int replace_input(Driver *d, const char *text, size_t len)
{
    OutFile f;
    outfile_begin(&f, d->o.input, stderr);
    outfile_write(&f, text, len);
    return outfile_end(&f) ? EXIT_SUCCESS : EXIT_DIAGNOSTICS;
}

static int print_text(Driver *d, const char *text, size_t len)
{
    FILE *f = open_output(d);
    if (!f)
        return EXIT_DIAGNOSTICS;
    fwrite(text, 1, len, f);
    return close_output(d, f);
}

int command_fmt(Driver *d)
{
    bool in_place = d->o.in_place && strcmp(d->o.input, "-") != 0;
    const Source *source = read_source(d, d->o.input);
    if (!source)
        return EXIT_DIAGNOSTICS;
    char *text;
    size_t len;
    int code = EXIT_DIAGNOSTICS;
    FILE *memory = open_memstream(&text, &len);
    bool ok = fmt_source(&d->arena, source, memory, &d->diag);
    fclose(memory);
    if (ok && in_place && strcmp(text, source->text) == 0)
        code = EXIT_SUCCESS;
    else if (ok)
        code =
            in_place ? replace_input(d, text, len) : print_text(d, text, len);
    free(text);
    return code;
}
