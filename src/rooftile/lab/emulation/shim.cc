// The functions of shim.h and its parts, which no kernel changes: compiled once, with more of the
// compiler's care, and linked with the program of every kernel.

#include "shim.h"

#include <fenv.h>

#include "fibers.cc"

unsigned __byte_perm(unsigned low, unsigned high, unsigned digits)
{
    uint64_t both = (uint64_t)high << 32 | low;
    unsigned made = 0;
    for (int byte = 0; byte < 4; byte++) made |= (unsigned)(both >> 8 * (digits >> 4 * byte & 7) & 0xff) << 8 * byte;
    return made;
}
void prmt(unsigned& made, unsigned low, unsigned high, unsigned digits)
{
    made = __byte_perm(low, high, digits);
    for (int byte = 0; byte < 4; byte++)
        if (digits >> 4 * byte & 8) {
            unsigned all = 0xffu << 8 * byte, sign = made >> 8 * byte & 0x80;
            made = sign ? made | all : made & ~all;
        }
}

// Threads in step.

static barrier block_barrier, warp_barriers[32], named_barriers[16];
void __syncthreads() { meet(block_barrier); }
void __syncwarp(unsigned) { meet(warp_barriers[thread_of() / 32]); }
UNSEEN void bar_sync(int id, int threads)
{
    barrier& state = named_barriers[id];
    if (state.expected != threads) state = {threads, threads};
    meet(state);
}

static uint64_t exchanged[MOST_THREADS];
// The result of `pick` on the values of all lanes of the warp.
template <class T, class Pick> static T in_warp(T given, Pick pick)
{
    unsigned thread = thread_of();
    memcpy(exchanged + thread, &given, sizeof given);
    __syncwarp();
    T result = pick([&](unsigned lane) {
        T of_lane;
        memcpy(&of_lane, exchanged + thread / 32 * 32 + lane, sizeof of_lane);
        return of_lane;
    });
    __syncwarp();
    return result;
}
uint64_t bits_of_lane(uint64_t given, unsigned lane)
{
    return in_warp(given, [&](auto of) { return of(lane); });
}
unsigned reduced(unsigned given, unsigned (*pick)(unsigned, unsigned))
{
    return in_warp(given, [&](auto of) {
        unsigned all = of(0);
        for (int lane = 1; lane < 32; lane++) all = pick(all, of(lane));
        return all;
    });
}

int __syncthreads_or(int given)
{
    exchanged[thread_of()] = given;
    __syncthreads();
    int any = 0;
    for (unsigned thread = 0; thread < blockDim.x * blockDim.y * blockDim.z; thread++) any |= exchanged[thread] != 0;
    __syncthreads();
    return any;
}

void load_words(unsigned long long& low, unsigned long long& high, const unsigned long long* from)
{
    if ((uint64_t)from % 16) abort();
    low = from[0], high = from[1];
}
void store_words(unsigned long long* to, unsigned long long low, unsigned long long high)
{
    if ((uint64_t)to % 16) abort();
    to[0] = low, to[1] = high;
}

#include "shared.cc"
#include "cores.cc"

void watch_unwritten()
{
    watched = true;
    feenableexcept(FE_INVALID);
}

// NaN in each format, signalling in all but float16: a computation with it is noticed.
static const unsigned UNWRITTEN = 0x7fa07fa0;
extern char __start_shared[] __attribute__((weak)), __stop_shared[] __attribute__((weak));
UNSEEN static void unwrite(char* begin, char* end)
{
    for (; begin + sizeof UNWRITTEN <= end; begin += sizeof UNWRITTEN) *(volatile unsigned*)begin = UNWRITTEN;
}

// A kernel, which is a task, for one block after another.
static void all_blocks(const void* on)
{
    const task kernel = *(const task*)on;
    // Of its own, since the next launch waits for nobody who reads after the last barrier.
    const dim3 grid = gridDim;
    for (unsigned b = 0; b < grid.x * grid.y * grid.z; b++) {
        if (thread_of() == 0) {
            blockIdx = {b % grid.x, b / grid.x % grid.y, b / grid.x / grid.y};
            unwrite(dynamic_shared, dynamic_shared + dynamic_bytes);
            unwrite(__start_shared, __stop_shared);
        }
        __syncthreads();
        kernel.run(kernel.on);
        __syncthreads();
    }
}

void launch_task(dim3 grid, dim3 block, size_t shared_bytes, task kernel)
{
    gridDim = grid, blockDim = block;
    int threads = block.x * block.y * block.z;
    // Of just these bytes, as a sanitizer watches the memory after them.
    void* memory;
    if (posix_memalign(&memory, 1024, shared_bytes)) abort();
    dynamic_shared = (char*)memory, dynamic_bytes = shared_bytes;
    block_barrier = {threads, threads};
    for (int w = 0; w < (threads + 31) / 32; w++) {
        int lanes = min(32, threads - 32 * w);
        warp_barriers[w] = {lanes, lanes};
    }
    for (auto& barrier : named_barriers) barrier = {128, 128};
    memset(shared_barriers, 0, sizeof shared_barriers);
    run_fibers(block, {all_blocks, &kernel});
    free(memory);
}

contents::contents(const char* path)
{
    FILE* file = fopen(path, "rb");
    fseek(file, 0, SEEK_END);
    bytes = (char*)malloc(size = ftell(file));
    rewind(file);
    if (fread(bytes, 1, size, file) != size) abort();
    fclose(file);
}
void contents::keep(const char* path)
{
    FILE* file = fopen(path, "wb");
    if (fwrite(bytes, 1, size, file) != size) abort();
    fclose(file);
}
