#include "runtime/flight.h"

#include "runtime/devices.h"

static const char *const state_name[] = {
    [FLIGHT_SETUP] = "setting up",
    [FLIGHT_KERNEL] = "running",
    [FLIGHT_BEFORE] = "waiting until all have come",
    [FLIGHT_MOVING] = "moving data",
    [FLIGHT_AFTER] = "waiting until all are done",
    [FLIGHT_PASSED] = "done",
    [FLIGHT_END] = "at the end",
};

static void put(_Atomic int *x, int value)
{
    atomic_store_explicit(x, value, memory_order_relaxed);
}

static int get(const _Atomic int *x)
{
    return atomic_load_explicit(x, memory_order_relaxed);
}

void flight_at(Flight *f, int step, FlightState state)
{
    put(&f->step, step);
    put(&f->state, (int)state);
}

void flight_collective(Flight *f, int step, FlightState state)
{
    unsigned n = atomic_load_explicit(&f->n, memory_order_relaxed);
    if (state == FLIGHT_BEFORE)
        atomic_store_explicit(&f->n, ++n, memory_order_relaxed);
    FlightEntry *e = &f->entry[(n - 1) % FLIGHT_SIZE];
    put(&e->step, step);
    put(&e->state, (int)state);
    flight_at(f, step, state);
}

static void print_step(const RtProgram *p, int step, FILE *to)
{
    if (step < 0 || step >= p->nstep)
        return;
    const RtStep *s = &rt_steps(p)[step];
    fprintf(to, " step %d", step);
    if (s->kind == RT_KERNEL)
        fprintf(to, " kernel %d", (int)s->index);
    if (s->kind == RT_COLLECTIVE) {
        const RtCollective *c = &rt_collectives(p)[s->index];
        fprintf(to, " c%d %s", (int)c->id, rt_collective_name[c->kind]);
    }
}

void flight_dump(const Flight *f, const RtProgram *p, int worker,
                 const char *devices, FILE *to)
{
    fprintf(to, "worker %d, %s:", worker, devices);
    print_step(p, get(&f->step), to);
    fprintf(to, " %s\n", state_name[get(&f->state)]);
    unsigned n = atomic_load_explicit(&f->n, memory_order_relaxed);
    unsigned first = n > FLIGHT_SIZE ? n - FLIGHT_SIZE : 0;
    for (unsigned i = first; i < n; i++) {
        const FlightEntry *e = &f->entry[i % FLIGHT_SIZE];
        fputs("   ", to);
        print_step(p, get(&e->step), to);
        fprintf(to, " %s\n", state_name[get(&e->state)]);
    }
}
