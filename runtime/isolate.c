// Workers as processes, one a device: only the segments that collectives read
// are shared, so a device that looks at another's memory sees its own instead.
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/interrupt.h"
#include "runtime/run.h"
#include "runtime/runtime.h"

enum {
    GRACE = 1,      // seconds to notice that the run is over
    LOOK = 1000000, // nanoseconds between looks at the children
};

// Never returns. What it has to say, its exit status and `control` tell.
static void child(Run *r, int device, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    interrupt_ignore(); // the parent hears them
    if (getppid() != parent)
        _exit(RT_EXIT_INTERNAL);
    if (!rt_memory_map_priv(&r->memory, r->program, device, 1))
        _exit(RT_EXIT_INPUT);
    worker_run(r, device);
    _exit(RT_EXIT_OK);
}

static void report(int device, int status, FILE *message)
{
    if (WIFSIGNALED(status))
        fprintf(message, "device %d: killed by signal %d (%s)\n", device,
                WTERMSIG(status), strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status) == RT_EXIT_INPUT)
        fprintf(message, "device %d: no room for its memory\n", device);
    else
        fprintf(message, "device %d: exited with status %d\n", device,
                WEXITSTATUS(status));
}

// Takes note of those that are gone. Returns how many are left.
static int look(Run *r, pid_t pid[], int n, bool tell, FILE *message)
{
    int left = 0;
    for (int i = 0; i < n; i++) {
        int status;
        if (pid[i] == 0)
            continue;
        if (waitpid(pid[i], &status, WNOHANG) != pid[i]) {
            left++;
            continue;
        }
        pid[i] = 0;
        if (status == 0 || !tell)
            continue;
        report(i, status, message);
        barrier_stop(&r->control->barrier, RT_EXIT_INTERNAL);
    }
    return left;
}

// Waits until all are gone. The first that fails ends the run for all; who
// does not notice in time is killed.
static void watch(Run *r, pid_t pid[], int n, FILE *message)
{
    double stopped_at = 0;
    bool killed = false;
    while (look(r, pid, n, !killed, message)) {
        nanosleep(&(struct timespec){.tv_nsec = LOOK}, NULL);
        if (!barrier_stopped(&r->control->barrier))
            continue;
        if (stopped_at == 0)
            stopped_at = rt_now();
        killed = rt_now() - stopped_at > (double)GRACE;
        for (int i = 0; i < n && killed; i++)
            if (pid[i])
                kill(pid[i], SIGKILL);
    }
}

int run_processes(Run *r, FILE *message)
{
    Barrier *b = &r->control->barrier;
    pid_t *pid = calloc((size_t)r->nworker, sizeof pid[0]);
    if (!pid)
        return RT_EXIT_INTERNAL;
    pid_t parent = getpid();
    fflush(NULL); // or the children would write it again
    for (int i = 0; i < r->nworker && !barrier_stopped(b); i++) {
        pid[i] = fork();
        if (pid[i] == 0)
            child(r, i, parent);
        if (pid[i] > 0)
            continue;
        pid[i] = 0;
        fprintf(message, "cannot start device %d: %s\n", i, strerror(errno));
        barrier_stop(b, RT_EXIT_INTERNAL);
    }
    watch(r, pid, r->nworker, message);
    free(pid);
    return atomic_load(&b->stop);
}
