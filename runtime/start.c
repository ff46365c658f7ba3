// The main of an executable, linked with the object file of a program.
#include <stddef.h>

#include "runtime/runtime.h"

int main(int argc, char *argv[])
{
    const RtPrograms p = {
        .forward = shardc_program,
        .forward_kernels = shardc_kernels,
        .step = shardc_step_program, // NULL if the object defines none
        .step_kernels = shardc_step_kernels,
    };
    return rt_main(argc, argv, &p);
}
