// Fibers: the threads of a block take turns on one thread of the host; where one waits, the next
// has its turn.  To ThreadSanitizer each is a thread of its own, and nothing but a barrier puts the
// accesses of one before another's.  Included by shim.cc; `threadIdx` is that of the
// fiber whose turn it is.  A fiber begins by `swapcontext`, and goes on by the compiler's own jumps,
// which ask the system for nothing: a block changes turns some hundred thousand times.

#include <sys/mman.h>
#include <ucontext.h>

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#else
static void* __tsan_create_fiber(unsigned) { return nullptr; }
static void* __tsan_get_current_fiber() { return nullptr; }
static void __tsan_destroy_fiber(void*) {}
static void __tsan_switch_to_fiber(void*, unsigned) {}
static void __tsan_acquire(void*) {}
static void __tsan_release(void*) {}
static const unsigned __tsan_switch_to_fiber_no_sync = 0;
#endif

// The scheduler's accesses are not the kernel's.
#define UNSEEN __attribute__((noinline, no_sanitize("address", "thread", "alignment")))

struct fiber {
    ucontext_t begin;
    void* left[5];
    dim3 place;
    const barrier* awaited;
    int parity;
    bool begun, done;
    void* known_as;
};
static fiber fibers[MOST_THREADS];
static fiber* turn;
static int fiber_count, unfinished;
static ucontext_t launcher;
static void* launcher_known_as;
static task task_of_fibers;

// To where the fiber was left, or to its beginning.
UNSEEN static void go_to(fiber& f)
{
    if (f.begun) __builtin_longjmp(f.left, 1);
    f.begun = true;
    setcontext(&f.begin);
}
UNSEEN void next_turn()
{
    fiber* before = turn;
    if (!unfinished) {
        __tsan_switch_to_fiber(launcher_known_as, 0);
        setcontext(&launcher);
    }
    for (int step = 0; step < fiber_count; step++) {
        if (++turn == fibers + fiber_count) turn = fibers;
        if (turn->done || turn->awaited && turn->awaited->parity == turn->parity) continue;
        turn->awaited = nullptr, threadIdx = turn->place;
        if (turn == before) return;
        __tsan_switch_to_fiber(turn->known_as, __tsan_switch_to_fiber_no_sync);
        if (!__builtin_setjmp(before->left)) go_to(*turn);
        return;
    }
    fprintf(stderr, "the threads of a block wait for each other\n");
    abort();
}
UNSEEN void arrive(barrier& at, int arrivals, int bytes)
{
    // Work before an arrival happens before the threads that waited for this phase go on.
    __tsan_release(&at.order[at.parity]);
    at.missing -= arrivals, at.bytes += bytes;
    if (at.missing || at.bytes) return;
    at.missing = at.expected, at.parity ^= 1;
}
UNSEEN void wait(barrier& at, int parity)
{
    if (at.parity == parity) turn->awaited = &at, turn->parity = parity, next_turn();
    __tsan_acquire(&at.order[parity]);
}
UNSEEN void meet(barrier& at)
{
    int parity = at.parity;
    arrive(at, 1, 0);
    wait(at, parity);
}
UNSEEN static void whole_turn()
{
    task_of_fibers.run(task_of_fibers.on);
    turn->done = true, unfinished--;
    next_turn();
}
UNSEEN void run_fibers(dim3 block, task given)
{
    const size_t stack = 1 << 18, page = 1 << 12;
    fiber_count = unfinished = block.x * block.y * block.z;
    task_of_fibers = given;
    launcher_known_as = __tsan_get_current_fiber();
    char* stacks = (char*)mmap(nullptr, fiber_count * stack, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    for (unsigned t = 0; t < fiber_count; t++) {
        fiber& f = fibers[t];
        f = {.place = {t % block.x, t / block.x % block.y, t / block.x / block.y}};
        // No stack grows into another.
        mprotect(stacks + t * stack, page, PROT_NONE);
        getcontext(&f.begin);
        f.begin.uc_stack = {.ss_sp = stacks + t * stack, .ss_size = stack};
        makecontext(&f.begin, whole_turn, 0);
        // AddressSanitizer would forget at each switch the gaps between the stack's variables.
        f.begin.uc_stack.ss_size = 0;
        f.known_as = __tsan_create_fiber(0);
    }
    turn = fibers, threadIdx = turn->place;
    __tsan_switch_to_fiber(turn->known_as, 0);
    turn->begun = true;
    swapcontext(&launcher, &turn->begin);
    for (int t = 0; t < fiber_count; t++) __tsan_destroy_fiber(fibers[t].known_as);
    munmap(stacks, fiber_count * stack);
}
