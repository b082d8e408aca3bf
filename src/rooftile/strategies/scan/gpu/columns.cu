// columns: adjacent lines; a block goes down a band of them.
//
// A thread has RUN elements of each of WIDTH lines, loaded as vectors of a row; LANES threads share
// a row of the band, and TEAMS of them follow each other down the axis. While a step of TEAMS RUN
// rows is scanned and stored, the next step's rows are in flight. Unlike a rung of single lines, it
// reads and writes whole rows of the band.
//
// x[outer][count][inner], y[outer][count][inner].
// Grid: x over bands of LANES WIDTH lines of all outer axes.
// Block: x over LANES threads of a row, y over TEAMS.

#include "scan.h"

#define BAND (LANES * WIDTH)
#define STEP (TEAMS * RUN)
#ifdef __OPENCL_VERSION__
#define OF_BYTES(bytes) __attribute__((aligned(bytes)))
#else
#define OF_BYTES(bytes) __align__(bytes)
#endif

struct OF_BYTES(WIDTH * sizeof(given)) given_row { given of[WIDTH]; };
struct OF_BYTES(WIDTH * sizeof(result)) result_row { result of[WIDTH]; };

// A thread's rows of a step, in the order in which they are scanned; elements of rows or lines that
// are not there are the first element of all.
__device__ __forceinline__ void load_step(struct given_row* rows, const GLOBAL given* x,
                                          int64 first, int64 count, int64 inner, int lines)
{
    UNROLL for (int r = 0; r < RUN; r++) {
        int64 row = first + r < count ? first + r : count - 1;
        const GLOBAL given* from = x + (REVERSE ? count - 1 - row : row) * inner;
        if (ALIGNED && lines >= WIDTH) {
            rows[r] = *(const GLOBAL struct given_row*)from;
        } else {
            UNROLL for (int e = 0; e < WIDTH; e++) rows[r].of[e] = from[e < lines ? e : 0];
        }
    }
}

__device__ __forceinline__ void store_row(struct result_row row, GLOBAL result* to, int lines)
{
    if (ALIGNED && lines >= WIDTH) {
        *(GLOBAL struct result_row*)to = row;
    } else {
        UNROLL for (int e = 0; e < WIDTH; e++)
            if (e < lines) to[e] = row.of[e];
    }
}

__global__ void LAUNCH_BOUNDS(LANES * TEAMS)
columns(const GLOBAL given* __restrict__ x, GLOBAL result* __restrict__ y, int64 bands,
        int64 count, int64 inner)
{
    __shared__ carried totals[TEAMS][BAND];
    int lane = threadIdx.x, team = threadIdx.y, thread = team * LANES + lane;
    int64 line = blockIdx.x % bands * BAND + lane * WIDTH;
    // Number of the thread's lines that exist. A thread without any repeats the last line.
    int lines = inner - line < WIDTH ? (inner > line ? inner - line : 0) : WIDTH;
    int64 origin = blockIdx.x / bands * count * inner + (lines ? line : inner - 1);
    struct carry before[(BAND + LANES * TEAMS - 1) / (LANES * TEAMS)];
    for (int own = 0; own * LANES * TEAMS < BAND; own++) before[own] = nothing();
    struct given_row ahead[RUN];
    load_step(ahead, x + origin, team * RUN, count, inner, lines);
    for (int64 top = 0; top < count; top += STEP) {
        int64 first = top + team * RUN;
        carried own[RUN][WIDTH];
        UNROLL for (int r = 0; r < RUN; r++)
            UNROLL for (int e = 0; e < WIDTH; e++) {
                carried value = first + r < count ? taken(ahead[r].of[e]) : IDENTITY;
                own[r][e] = r ? combined(own[r - 1][e], value) : value;
            }
        if (top + STEP < count) load_step(ahead, x + origin, first + STEP, count, inner, lines);
        UNROLL for (int e = 0; e < WIDTH; e++) totals[team][lane * WIDTH + e] = own[RUN - 1][e];
        __syncthreads();
        for (int at = thread, k = 0; at < BAND; at += LANES * TEAMS, k++)
            for (int t = 0; t < TEAMS; t++) {
                carried of_team = totals[t][at];
                totals[t][at] = value_of(before[k]);
                before[k] = joined(before[k], of_team);
            }
        __syncthreads();
        UNROLL for (int r = 0; r < RUN; r++) {
            struct result_row row;
            UNROLL for (int e = 0; e < WIDTH; e++) {
                carried prefix = totals[team][lane * WIDTH + e];
                carried with = EXCLUSIVE ? (r ? combined(prefix, own[r - 1][e]) : prefix)
                                         : combined(prefix, own[r][e]);
                row.of[e] = stored(with);
            }
            int64 element = first + r;
            if (element < count)
                store_row(row, y + origin + (REVERSE ? count - 1 - element : element) * inner, lines);
        }
    }
}
