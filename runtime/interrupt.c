#define _GNU_SOURCE
#include "runtime/interrupt.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

enum {
    SIGNALLED = 128, // the exit code of who ends by a signal, as shells have it
};

static const int signals[] = {SIGINT, SIGTERM};

// A handler takes no argument; this is the one of the run that listens.
static _Atomic int *_Atomic counter;
static struct sigaction before[2];

static void handle(int signal)
{
    if (atomic_fetch_add(counter, 1) > 0)
        _exit(SIGNALLED + signal);
}

void interrupt_begin(_Atomic int *count)
{
    counter = count;
    struct sigaction a = {.sa_handler = handle, .sa_flags = SA_RESTART};
    for (int i = 0; i < 2; i++)
        sigaction(signals[i], &a, &before[i]);
}

void interrupt_end(void)
{
    for (int i = 0; i < 2; i++)
        sigaction(signals[i], &before[i], NULL);
}

void interrupt_ignore(void)
{
    for (int i = 0; i < 2; i++)
        signal(signals[i], SIG_IGN);
}
