// The main of an executable, linked with the object file of a program.
#include "runtime/runtime.h"

int main(int argc, char *argv[])
{
    return rt_main(argc, argv, shardc_program, shardc_kernels);
}
