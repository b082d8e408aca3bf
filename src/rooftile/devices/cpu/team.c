/* A team of threads that run kernels one after the other, a share of the units each.
 *
 * `alone` does everything on the calling thread.  `spread` offers the shares of each kernel, which
 * the caller and the threads that run `work` claim: a thread that sleeps or is late is not waited
 * for.  `make texts` compiles this to `team.ll`.
 */

#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>

#include "team.h"

enum {
    PAUSES = 50, /* looks between two calls of `sched_yield` */
    NONE = -1,
    LINE = 64, /* bytes of a cache line, which what threads write often has for itself */
    ROOM = 128, /* bytes */
};

/* The processor's hint that a thread waits in a loop; `team.py` adds its definition. */
void pause_core(void);

/* The offered work, in one number that is exchanged at once: number of the kernel << 32 |
   shares << 16 | first share that no thread has claimed. */
typedef uint64_t offer;

struct team {
    _Alignas(LINE) _Atomic offer offer;
    _Alignas(LINE) _Atomic int64_t done; /* shares */
    _Alignas(LINE) _Atomic int64_t sleeping; /* threads */
    _Alignas(LINE) const struct kernel *kernel;
    int64_t core; /* the caller's */
    _Atomic int64_t busy; /* whether a caller has the team */
    struct cores cores;
    /* Room for any system's, since one text serves all of them. */
    _Alignas(LINE) char mutex[ROOM], condition[ROOM];
};

_Static_assert(sizeof(struct team) <= TEAM_BYTES, "team.py allocates less");
_Static_assert(offsetof(struct team, busy) == BUSY_AT, "a test of team.py looks there");

_Static_assert(sizeof(pthread_mutex_t) <= ROOM && sizeof(pthread_cond_t) <= ROOM, "more room");

static pthread_mutex_t *mutex_of(struct team *team) { return (pthread_mutex_t *)team->mutex; }

static pthread_cond_t *condition_of(struct team *team) { return (pthread_cond_t *)team->condition; }

static uint64_t next_share(offer now) { return now & 0xffff; }

static uint64_t shares_of(offer now) { return now >> 16 & 0xffff; }

static const struct kernel *kernel_at(const int64_t *table, int64_t row, int64_t width) {
    return (const struct kernel *)(table + row * width);
}

static void compute(const struct kernel *kernel, int64_t thread, int64_t share, int64_t shares) {
    int64_t first = kernel->units * share / shares;
    int64_t end = kernel->units * (share + 1) / shares;
    kernel->entry(kernel->given, thread, first, end);
}

void alone(const int64_t *table, int64_t rows, int64_t width) {
    for (int64_t row = 0; row < rows; row++) compute(kernel_at(table, row, width), 0, 0, 1);
}

/* The number of a share that is the calling thread's from now on; NONE where none is left. */
static int64_t claim(struct team *team) {
    offer now = atomic_load_explicit(&team->offer, memory_order_acquire);
    while (next_share(now) < shares_of(now)) {
        if (atomic_compare_exchange_strong_explicit(&team->offer, &now, now + 1,
                                                    memory_order_acq_rel, memory_order_acquire))
            return (int64_t)next_share(now);
    }
    return NONE;
}

static void finish(struct team *team) {
    atomic_fetch_add_explicit(&team->done, 1, memory_order_acq_rel);
}

static void wake_one(struct team *team) {
    pthread_mutex_lock(mutex_of(team));
    /* This thread wakes others, while the caller computes: on a virtual machine each wake-up takes
       long. */
    pthread_cond_signal(condition_of(team));
    pthread_mutex_unlock(mutex_of(team));
}

/* Offers the shares of a kernel, claims the shares that are left, and waits until all are done. */
static void offer_shares(struct team *team, const struct kernel *kernel, int64_t shares) {
    team->kernel = kernel;
    atomic_store_explicit(&team->done, 0, memory_order_relaxed);
    offer last = atomic_load_explicit(&team->offer, memory_order_relaxed);
    /* The first share is the caller's. */
    offer now = ((last >> 32) + 1) << 32 | (offer)shares << 16 | 1;
    /* A thread that is about to sleep has counted itself before it looks at the offer once more. */
    atomic_store_explicit(&team->offer, now, memory_order_seq_cst);
    if (atomic_load_explicit(&team->sleeping, memory_order_seq_cst) != 0) wake_one(team);
    compute(kernel, 0, 0, shares);
    finish(team);
    for (int64_t share; (share = claim(team)) != NONE; finish(team))
        compute(kernel, 0, share, shares);
    for (int turn = 1; atomic_load_explicit(&team->done, memory_order_acquire) < shares; turn++) {
        /* Another program may have the core of a thread that is waited for, or this thread may. */
        if (turn % (PAUSES + 1) == 0) sched_yield();
        else pause_core();
    }
}

static int64_t current_core(const struct cores *cores) {
    return cores->current ? cores->current() : -1;
}

void spread(struct team *team, const int64_t *table, int64_t rows, int64_t width, int64_t most) {
    int64_t free = 0;
    if (!atomic_compare_exchange_strong_explicit(&team->busy, &free, 1, memory_order_acquire,
                                                 memory_order_relaxed)) {
        alone(table, rows, width);
        return;
    }
    team->core = current_core(&team->cores);
    for (int64_t row = 0; row < rows; row++) {
        const struct kernel *kernel = kernel_at(table, row, width);
        int64_t shares = most < kernel->units ? most : kernel->units;
        if (shares > 1) offer_shares(team, kernel, shares);
        else compute(kernel, 0, 0, 1);
    }
    atomic_store_explicit(&team->busy, 0, memory_order_release);
}

/* A thread that was woken on its caller's core would take turns with it, and may stay there for
   seconds: it goes to any other core that it may use, and may go anywhere from there. */
static void leave_callers_core(const struct team *team) {
    const struct cores *cores = &team->cores;
    int64_t own = current_core(cores);
    cpu_set_t allowed;
    if (own != team->core || own < 0 || own >= CPU_SETSIZE) return;
    if (cores->get_allowed(0, sizeof allowed, &allowed) != 0) return;
    cpu_set_t others = allowed;
    CPU_CLR(own, &others);
    /* Where no other core is allowed this is refused, and nothing happens. */
    cores->set_allowed(0, sizeof others, &others);
    cores->set_allowed(0, sizeof allowed, &allowed);
}

/* Sleeps until a kernel is offered, unless one is offered already. */
static void sleep_until_offered(struct team *team) {
    pthread_mutex_lock(mutex_of(team));
    atomic_fetch_add_explicit(&team->sleeping, 1, memory_order_seq_cst);
    offer now = atomic_load_explicit(&team->offer, memory_order_seq_cst);
    if (next_share(now) < shares_of(now)) {
        atomic_fetch_sub_explicit(&team->sleeping, 1, memory_order_seq_cst);
        pthread_mutex_unlock(mutex_of(team));
        return;
    }
    pthread_cond_wait(condition_of(team), mutex_of(team));
    int64_t slept = atomic_fetch_sub_explicit(&team->sleeping, 1, memory_order_seq_cst);
    pthread_mutex_unlock(mutex_of(team));
    if (slept > 1) {
        pthread_cond_signal(condition_of(team));
        pthread_cond_signal(condition_of(team));
    }
}

void work(struct team *team, int64_t thread, int64_t patience) {
    for (int64_t turn = 1;; turn++) {
        int64_t share = claim(team);
        if (share != NONE) {
            /* The offer stays as it is until this share is done. */
            offer now = atomic_load_explicit(&team->offer, memory_order_relaxed);
            const struct kernel *kernel = team->kernel;
            leave_callers_core(team);
            compute(kernel, thread, share, (int64_t)shares_of(now));
            finish(team);
            turn = 0;
        } else if (turn > patience) {
            sleep_until_offered(team);
            turn = 0;
        } else {
            pause_core();
            if (turn % PAUSES == 0) sched_yield();
        }
    }
}

void prepare(struct team *team, const struct cores *cores) {
    team->cores = *cores;
    pthread_mutex_init(mutex_of(team), NULL);
    pthread_cond_init(condition_of(team), NULL);
}
