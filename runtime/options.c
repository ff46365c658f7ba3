#include "runtime/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_number(const char *text)
{
    char *end;
    errno = 0;
    strtoull(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0;
}

bool options_check(const RtOptions *o, FILE *message)
{
    const struct {
        bool is_wrong;
        const char *what;
    } faults[] = {
        {!o->steps &&
             (o->data || o->seed || o->save || o->metrics || o->debug_nan),
         "--data, --seed, --save, --metrics and --debug-nan: only with "
         "--steps"},
        {o->steps && o->repeat, "--repeat: not with --steps"},
        {o->data && o->feed, "--data: not with --feed"},
        {o->data_type && !o->data, "--data-type: only with --data"},
        {o->data_type && strcmp(o->data_type, "u16") != 0 &&
             strcmp(o->data_type, "u32") != 0,
         "--data-type: must be u16 or u32"},
        {(o->save_every || o->keep) && !o->save,
         "--save-every and --keep: only with --save"},
        {o->seed && !is_number(o->seed),
         "--seed: not a whole number below 2^64"},
    };
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        if (!faults[i].is_wrong)
            continue;
        fprintf(message, "%s\n", faults[i].what);
        return false;
    }
    return true;
}
