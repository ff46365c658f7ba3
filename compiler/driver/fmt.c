// shardc fmt: a model in the one layout.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "driver/driver.h"
#include "frontend/frontend.h"

int command_fmt(Driver *d)
{
    const Source *source = read_source(d, d->o.input);
    if (!source)
        return EXIT_DIAGNOSTICS;
    char *text;
    size_t len;
    FILE *memory = open_memstream(&text, &len);
    bool ok = fmt_source(&d->arena, source, memory, &d->diag);
    fclose(memory);
    int code = EXIT_DIAGNOSTICS;
    if (ok && d->o.in_place)
        d->o.output = d->o.input;
    bool same = ok && d->o.in_place && strcmp(text, source->text) == 0;
    FILE *f = ok && !same ? open_output(d) : NULL;
    if (f) {
        fwrite(text, 1, len, f);
        code = close_output(d, f);
    }
    free(text);
    return same ? EXIT_SUCCESS : code;
}
