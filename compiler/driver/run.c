// shardc run: build in memory and run.
#include "driver/interpret.h"

int command_run(Driver *d)
{
    Built b = {0};
    if (!build_forms(d, FORM_local, &b))
        return EXIT_DIAGNOSTICS;
    if (d->o.interpret)
        return run_interpreter(d, &b);
    return 70;
}
