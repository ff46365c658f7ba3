// Workers as threads of this process.
//
// They are detached and tell their end by a semaphore: a kernel that hangs
// cannot be stopped, and must not keep the caller from hearing of it.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/run.h"
#include "runtime/runtime.h"

enum {
    GRACE = 200, // ms for the others to notice that the run is over
};

// Owned by the threads and their starter together.
typedef struct Team {
    Run *r;
    sem_t ended;
    _Atomic int next; // worker to become
    _Atomic int users;
} Team;

static void release(Team *t)
{
    if (atomic_fetch_sub(&t->users, 1) != 1)
        return;
    sem_destroy(&t->ended);
    run_release(t->r);
    free(t);
}

static void *thread_main(void *arg)
{
    Team *t = arg;
    worker_run(t->r, atomic_fetch_add(&t->next, 1));
    sem_post(&t->ended);
    release(t);
    return NULL;
}

// Returns false if no worker ended within the time of grace.
static bool wait_one(Team *t)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += GRACE * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    for (;;) {
        if (sem_timedwait(&t->ended, &until) == 0)
            return true;
        if (errno != EINTR)
            return false;
    }
}

static Team *make_team(Run *r)
{
    Team *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    sem_init(&t->ended, 0, 0);
    t->r = r;
    atomic_fetch_add(&r->users, 1);
    atomic_init(&t->users, 1);
    return t;
}

static int start(Team *t)
{
    pthread_t id;
    atomic_fetch_add(&t->users, 1);
    int why = pthread_create(&id, NULL, thread_main, t);
    if (why)
        release(t);
    else
        pthread_detach(id);
    return why;
}

int run_threads(Run *r, FILE *message)
{
    Barrier *b = &r->control->barrier;
    if (r->nworker == 1) {
        worker_run(r, 0);
        return atomic_load(&b->stop);
    }
    Team *t = make_team(r);
    int why = t ? 0 : errno, started = 0;
    while (!why && started < r->nworker)
        if ((why = start(t)) == 0)
            started++;
    if (why) {
        barrier_stop(b, RT_EXIT_INTERNAL);
        fprintf(message, "cannot start worker %d: %s\n", started,
                strerror(why));
    }
    for (int left = started; left;) {
        bool ended = wait_one(t);
        if (ended)
            left--;
        else if (barrier_stopped(b))
            break;
    }
    if (t)
        release(t);
    return atomic_load(&b->stop);
}
