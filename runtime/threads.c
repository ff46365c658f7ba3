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
    t->r = r;
    atomic_fetch_add(&r->users, 1);
    atomic_init(&t->users, 1 + r->nworker);
    sem_init(&t->ended, 0, 0);
    return t;
}

// Returns the number of workers that could be started.
static int start(Team *t, FILE *message)
{
    for (int i = 0; i < t->r->nworker; i++) {
        pthread_t id;
        int why = pthread_create(&id, NULL, thread_main, t);
        if (why) {
            fprintf(message, "cannot start worker %d: %s\n", i, strerror(why));
            barrier_stop(&t->r->control->barrier, RT_EXIT_INTERNAL);
            atomic_fetch_sub(&t->users, t->r->nworker - i);
            return i;
        }
        pthread_detach(id);
    }
    return t->r->nworker;
}

int run_threads(Run *r, FILE *message)
{
    Barrier *b = &r->control->barrier;
    if (r->nworker == 1) {
        worker_run(r, 0);
        return atomic_load(&b->stop);
    }
    Team *t = make_team(r);
    if (!t)
        return RT_EXIT_INTERNAL;
    for (int left = start(t, message); left;) {
        bool ended = wait_one(t);
        if (ended)
            left--;
        else if (barrier_stopped(b))
            break;
    }
    release(t);
    return atomic_load(&b->stop);
}
