// Training steps by the interpreter: what comes out as the next value of a
// weight or of a state goes in again.
#include <math.h>
#include <string.h>

#include "driver/interpret.h"

static bool has_class(const Op *param, const char *wanted)
{
    const char *class = op_str(param, A_class);
    return class && strcmp(class, wanted) == 0;
}

bool is_state(const Op *param)
{
    return has_class(param, "state");
}

bool first_values(const Op *state, double x[])
{
    const char *init = op_str(state, A_init);
    const Attr *scale = op_attr(state, A_scale);
    double value = 0;
    if (init && strcmp(init, "ones") == 0)
        value = 1;
    else if (init && strcmp(init, "constant") == 0)
        value = scale->floats[0];
    else if (init && strcmp(init, "zeros") != 0)
        return false;
    for (int64_t i = 0; i < type_count(&state->type); i++)
        x[i] = value;
    return true;
}

// The param whose next value a result is, by name as in emit/plan.c; or -1.
static int donor_of(const Func *f, int result)
{
    static const char prefix[] = "param.";
    const size_t length = sizeof prefix - 1;
    const char *name = f->result_names.at[result];
    bool is_weight = strncmp(name, prefix, length) == 0;
    for (int i = 0; i < f->nparam; i++) {
        const Op *param = f->ops.at[i];
        if (has_class(param, is_weight ? "param" : "state") &&
            strcmp(param->name, name + (is_weight ? length : 0)) == 0)
            return i;
    }
    return -1;
}

bool is_dumped(const Func *f, int result)
{
    int donor = donor_of(f, result);
    return donor < 0 || !is_state(f->ops.at[donor]);
}

bool is_printed(const Func *f, int result)
{
    return f->results.at[result]->type.rank == 0 && donor_of(f, result) < 0 &&
           strncmp(f->result_names.at[result], "grad.", 5) != 0;
}

void carry_on(const Func *f, int64_t n, double *const out[], const double *in[])
{
    for (int i = 0; i < f->results.n; i++) {
        int donor = donor_of(f, i);
        for (int64_t k = 0; donor >= 0 && k < n; k++)
            in[donor * n + k] = out[i * n + k];
    }
}

void write_row(FILE *metrics, const Func *f, int64_t n, double *const out[],
               int step)
{
    fprintf(metrics, "{\"step\": %d", step);
    for (int i = 0; i < f->results.n; i++) {
        double x = out[i * n][0];
        if (!is_printed(f, i))
            continue;
        fprintf(metrics, ", \"%s\": ", f->result_names.at[i]);
        fprintf(metrics, isfinite(x) ? "%.9g" : "null", x);
    }
    fputs("}\n", metrics);
}

bool can_interpret_training(const Options *o)
{
    if (!o->data && !o->data_type && !o->seed && !o->save && !o->save_every &&
        !o->keep && !o->debug_nan)
        return true;
    fputs("shardc: --interpret: trains from --load and --feed alone, without "
          "--data, --seed, --save and --debug-nan\n",
          stderr);
    return false;
}
