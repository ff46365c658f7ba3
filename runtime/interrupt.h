// Ctrl-C and SIGTERM: the first asks for an end, the second is one.
#pragma once

#include <stdatomic.h>

// Counts signals in *count from now on.
void interrupt_begin(_Atomic int *count);
void interrupt_end(void);
// In a child: the parent is who counts.
void interrupt_ignore(void);
