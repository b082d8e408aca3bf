/* The arguments of `team.c`; `team.py` has the same. */

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum { TEAM_BYTES = 1024, BUSY_AT = 208 };

struct team;

/* A row of a table: a kernel, its units, and the words that its entry is given. */
struct kernel {
    void (*entry)(const int64_t *given, int64_t thread, int64_t first, int64_t end);
    int64_t units;
    int64_t given[];
};

/* Functions of the C library, as Linux has them; null elsewhere. */
struct cores {
    int (*current)(void);                                           /* sched_getcpu */
    int (*get_allowed)(int process, size_t bytes, void *set);       /* sched_getaffinity */
    int (*set_allowed)(int process, size_t bytes, const void *set); /* sched_setaffinity */
};

/* All units of the kernels of a table, whose rows have `width` words each, by the calling thread. */
void alone(const int64_t *table, int64_t rows, int64_t width);

/* The same by a team, in at most `shares` shares a kernel. One caller at a time has the team; a
   caller that finds it busy works alone. */
void spread(struct team *team, const int64_t *table, int64_t rows, int64_t width, int64_t most);

/* The life of a team's thread, which looks so often for a share before it sleeps. */
void work(struct team *team, int64_t thread, int64_t patience);

/* Makes a team of zeroed memory. */
void prepare(struct team *team, const struct cores *cores);
