// two_layers: the last two layers of a network, the cross-entropy of the softmax, and the gradient of
// their input, in one launch: `items`, and the layer before it.
//
// What it removes: another launch for the layer before, whose weights stay in registers for its
// gradient.
//
// A block makes all of it for ITEMS items.  Forward, a team of TEAM threads walks along ROWS rows of
// the first weights, and multiplies what it reads of them with the features of all items; backward,
// a thread has columns of dx.
//
// x[images][FEATURES] (the value of the activation BELOW), first_weights[INPUTS][FEATURES],
// first_bias[INPUTS]; given[images][INPUTS] (the value of the activation BEFORE), change (of the
// same shape, before that), dx[images][FEATURES] (before BELOW); the others as in `items`.
// Grid: x over the items.  Block: TEAM x TEAMS.  The launch may overlap the one before.

#define THREADS (TEAM * TEAMS)
#define HELD SHARED
#include "common/fused.h"
#include "last_layer.h"

// A team's sums are joined in PARTS sums first; rows of `joined` and `part` are in different banks.
#define PARTS 8
#define JOINED_ROW (TEAM + PARTS)
#define JOINED (TOGETHER * INPUTS * JOINED_ROW)
#define PART_ROW (PARTS + 1)
#define ALL_PARTS (ITEMS * INPUTS * PART_ROW)
// Items that are joined at a time.
#define TOGETHER (ITEMS < 2 ? ITEMS : 2)
#define QUARTER (FEATURES / 4)
#define STEPS ((QUARTER + TEAM - 1) / TEAM)
#define EARLY (MOST_EARLY < STEPS ? MOST_EARLY : STEPS)
#if EARLY == STEPS
#define COLUMNS ((FEATURES + THREADS - 1) / THREADS)
#define OF_TEAMS (TEAMS * FEATURES)
#else
#define COLUMNS (FEATURES < 2 * THREADS ? 1 : FEATURES < 4 * THREADS ? 2 : 4)
#define OF_TEAMS 0
#endif
#define LARGER(a, b) ((a) > (b) ? (a) : (b))

#if QUARTER % TEAM == 0
#define IS_FEATURE(at) 1
#else
#define IS_FEATURE(at) ((at) < QUARTER)
#endif

// The weights of a team's rows that a thread multiplies in a step.
__device__ __forceinline__ void read_weights(const GLOBAL float* weights, int step, float4* to)
{
    int at = step * TEAM + threadIdx.x;
    UNROLL for (int r = 0; r < ROWS; r++) {
        int row = ROWS * threadIdx.y + r;
        const GLOBAL float4* from = (const GLOBAL float4*)(weights + (int64)row * FEATURES);
        to[r] = IS_FEATURE(at) && row < INPUTS ? from[at] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    }
}

// Adds their products with the items' features.
__device__ __forceinline__ void multiply(const GLOBAL float* x, int first, int images, int step,
                                         const float4* weight, float (*sum)[ROWS])
{
    int at = step * TEAM + threadIdx.x;
    UNROLL for (int item = 0; item < ITEMS; item++) {
        // Items beyond the last repeat it.
        int n = first + item < images ? first + item : images - 1;
        float4 four = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        if (IS_FEATURE(at)) four = ((const GLOBAL float4*)(x + (int64)n * FEATURES))[at];
        UNROLL for (int r = 0; r < ROWS; r++)
            sum[item][r] += weight[r].x * four.x + weight[r].y * four.y + weight[r].z * four.z +
                            weight[r].w * four.w;
    }
}

// part[ITEMS][INPUTS][PART_ROW] of all threads' sums; joined[JOINED] is overwritten.
__device__ __forceinline__ void join(float (*sum)[ROWS], SHARED float* joined, SHARED float* part,
                                     int thread)
{
    UNROLL for (int begin = 0; begin < ITEMS; begin += TOGETHER) {
        UNROLL for (int item = 0; item < TOGETHER; item++)
            UNROLL for (int r = 0; r < ROWS; r++) {
                int row = ROWS * threadIdx.y + r;
                if (row < INPUTS)
                    joined[(item * INPUTS + row) * JOINED_ROW + threadIdx.x] = sum[begin + item][r];
            }
        __syncthreads();
        for (int k = thread; k < TOGETHER * INPUTS * PARTS; k += THREADS) {
            float of_part = 0.0f;
            UNROLL for (int lane = k % PARTS; lane < TEAM; lane += PARTS)
                of_part += joined[k / PARTS * JOINED_ROW + lane];
            part[(begin * INPUTS + k / PARTS) * PART_ROW + k % PARTS] = of_part;
        }
        __syncthreads();
    }
}

// dx of change[INPUTS][ITEMS], the gradients before the activation BEFORE.
#if EARLY == STEPS
// All weights are still at hand: a thread multiplies them again, and what the teams have of a column
// is joined in joined[TEAMS][FEATURES].
__device__ __forceinline__ void make_dx(const GLOBAL float* x, float4 (*weight)[ROWS],
                                        const SHARED float* change, SHARED float4* joined,
                                        GLOBAL float* dx, int first, int images, int thread)
{
    const SHARED float* whole = (const SHARED float*)joined;
    UNROLL for (int item = 0; item < ITEMS; item++) {
        int64 begin = (int64)(first + item < images ? first + item : images - 1) * FEATURES;
        float value[COLUMNS];
        UNROLL for (int c = 0; c < COLUMNS; c++) {
            int i = thread + c * THREADS;
            value[c] = i < FEATURES ? x[begin + i] : 0.0f;
        }
        UNROLL for (int step = 0; step < STEPS; step++) {
            float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
            UNROLL for (int r = 0; r < ROWS; r++) {
                int row = ROWS * threadIdx.y + r;
                float factor = row < INPUTS ? change[row * ITEMS + item] : 0.0f;
                float4 of_row = weight[step][r];
                sum.x += factor * of_row.x, sum.y += factor * of_row.y;
                sum.z += factor * of_row.z, sum.w += factor * of_row.w;
            }
            int at = step * TEAM + threadIdx.x;
            if (IS_FEATURE(at)) joined[threadIdx.y * QUARTER + at] = sum;
        }
        __syncthreads();
        UNROLL for (int c = 0; c < COLUMNS; c++) {
            int i = thread + c * THREADS;
            if (i >= FEATURES || first + item >= images) continue;
            float sum = 0.0f;
            UNROLL for (int team = 0; team < TEAMS; team++) sum += whole[team * FEATURES + i];
            dx[begin + i] = sum * derivative(BELOW, value[c]);
        }
        if (item + 1 < ITEMS) __syncthreads();
    }
}
#else
// A thread has COLUMNS columns, and reads the weights again.
__device__ __forceinline__ void make_dx(const GLOBAL float* x, const GLOBAL float* weights,
                                        const SHARED float* change, GLOBAL float* dx, int first,
                                        int images, int thread)
{
    for (int i = thread; i < FEATURES; i += COLUMNS * THREADS) {
        float sum[ITEMS][COLUMNS], value[ITEMS][COLUMNS];
        UNROLL for (int item = 0; item < ITEMS; item++)
            UNROLL for (int c = 0; c < COLUMNS; c++) {
                int n = first + item < images ? first + item : images - 1;
                int column = i + c * THREADS < FEATURES ? i + c * THREADS : FEATURES - 1;
                sum[item][c] = 0.0f;
                value[item][c] = x[(int64)n * FEATURES + column];
            }
        UNROLL_BY(16 / COLUMNS) for (int row = 0; row < INPUTS; row++)
            UNROLL for (int c = 0; c < COLUMNS; c++) {
                int column = i + c * THREADS < FEATURES ? i + c * THREADS : FEATURES - 1;
                float weight = weights[row * FEATURES + column];
                UNROLL for (int item = 0; item < ITEMS; item++)
                    sum[item][c] += change[row * ITEMS + item] * weight;
            }
        UNROLL for (int item = 0; item < ITEMS; item++)
            UNROLL for (int c = 0; c < COLUMNS; c++)
                if (first + item < images && i + c * THREADS < FEATURES)
                    dx[(int64)(first + item) * FEATURES + i + c * THREADS] =
                        sum[item][c] * derivative(BELOW, value[item][c]);
    }
}
#endif

__global__ void LAUNCH_BOUNDS(THREADS)
two_layers(const GLOBAL float* x, const GLOBAL float* first_weights, const GLOBAL float* first_bias,
     const GLOBAL float* weights, const GLOBAL float* bias, const GLOBAL int* labels,
     SCALING_ARGUMENT GLOBAL float* __restrict__ given, GLOBAL float* __restrict__ change,
     GLOBAL float* __restrict__ dx, GLOBAL float* __restrict__ loss, GLOBAL float* __restrict__ dz,
     int images)
{
    __shared__ float4 room[LARGER(LARGER(JOINED + ALL_PARTS, SCORES), OF_TEAMS) / 4 + 1];
    __shared__ float hidden[ITEMS * INPUTS], held[OUTPUTS * INPUTS];
    __shared__ float biases[OUTPUTS], first_biases[INPUTS];
    __shared__ __attribute__((aligned(16))) float changes[INPUTS * ITEMS];
    __shared__ float score[ITEMS * OUTPUTS], gradient[ITEMS * OUTPUTS];
    __shared__ int label[ITEMS];
    SHARED float* joined = (SHARED float*)room;
    SHARED float* part = joined + JOINED;
    int first = blockIdx.x * ITEMS, thread = threadIdx.y * TEAM + threadIdx.x;
    float sum[ITEMS][ROWS];
    float4 early[EARLY][ROWS];
    GRIDDEPCONTROL_WAIT_UNSETTLED();
    UNROLL for (int step = 0; step < EARLY; step++) read_weights(first_weights, step, early[step]);
    read_parameters(weights, held, OUTPUTS * INPUTS, thread);
    read_parameters(bias, biases, OUTPUTS, thread);
    read_parameters(first_bias, first_biases, INPUTS, thread);
    UNROLL for (int item = 0; item < ITEMS; item++)
        UNROLL for (int r = 0; r < ROWS; r++) sum[item][r] = 0.0f;
    GRIDDEPCONTROL_WAIT_SETTLED();
    read_labels(labels, label, first, images, thread);
    UNROLL for (int step = 0; step < EARLY; step++)
        multiply(x, first, images, step, early[step], sum);
    UNROLL_BY(2) for (int step = EARLY; step < STEPS; step++) {
        float4 weight[ROWS];
        read_weights(first_weights, step, weight);
        multiply(x, first, images, step, weight, sum);
    }
    join(sum, joined, part, thread);
    for (int k = thread; k < ITEMS * INPUTS; k += THREADS) {
        float whole = 0.0f;
        UNROLL for (int p = 0; p < PARTS; p++) whole += part[k * PART_ROW + p];
        hidden[k] = activated(BEFORE, whole + first_biases[k % INPUTS]);
        if (first + k / INPUTS < images) given[(int64)first * INPUTS + k] = hidden[k];
    }
    __syncthreads();
    make_scores(hidden, held, biases, joined, score, thread);
    make_losses(score, label, SCALE, loss, dz, gradient, first, images, thread);
    for (int k = thread; k < ITEMS * INPUTS; k += THREADS) {
        float made = change_of(k, hidden, held, gradient);
        changes[k % INPUTS * ITEMS + k / INPUTS] = made;
        if (first + k / INPUTS < images) change[(int64)first * INPUTS + k] = made;
    }
    __syncthreads();
#if EARLY == STEPS
    make_dx(x, early, changes, room, dx, first, images, thread);
#else
    make_dx(x, first_weights, changes, dx, first, images, thread);
#endif
}
