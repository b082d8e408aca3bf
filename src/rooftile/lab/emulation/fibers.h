// Fibers (fibers.cc): the threads of a block take turns, and meet at barriers.

// Passed when neither arrivals nor bytes are missing; then the next phase, of the other parity,
// misses as many as before.
struct barrier { int expected, missing, bytes, parity; char order[2]; };

// To the next fiber that need not wait, the launcher after the last.
void next_turn();

void arrive(barrier& at, int arrivals, int bytes);
// Until the phase of this parity is over.
void wait(barrier& at, int parity);
void meet(barrier& at);

// A thread's function, with an argument.
struct task { void (*run)(const void*); const void* on; };

// Runs a task in a fiber for each thread of `block`.
void run_fibers(dim3 block, task given);
