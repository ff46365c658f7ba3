#include "emit/attention.h"

#include "emit/kernel.h"

void emit_attention(KernelCode *c)
{
    (void)c;
}
