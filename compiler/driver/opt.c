// shardc opt: passes on IR text.
#include "driver/driver.h"

int command_opt(Driver *d)
{
    const Source *source = read_source(d, d->o.input);
    Module *m = source ? module_parse(&d->arena, source, &d->diag) : NULL;
    PassContext c = {
        .arena = &d->arena, .diag = &d->diag, .uneven_pad = d->o.uneven_pad};
    if (m)
        m = pass_run(&c, m, d->o.passes ? d->o.passes : "", &d->o.pass);
    if (!m || diag_failed(&d->diag))
        return EXIT_DIAGNOSTICS;
    FILE *f = open_output(d);
    if (!f)
        return EXIT_DIAGNOSTICS;
    module_print(m, f);
    return close_output(d, f);
}
