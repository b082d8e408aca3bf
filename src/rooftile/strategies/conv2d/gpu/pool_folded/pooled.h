// The epilogue of a matrix product with a folded pool: its sums are pooled, stored, and computed
// from their definition where they are NaN. A text defines `tap`, which knows the layout of its
// weights.
//
// A thread holds SUMS sums, eight of each group of four maps: [row of the fold's window][half of
// the band, or window of two adjacent ones][column of the fold's window].
//
// With WINNERS, a text also gives each window's argmax, see winner_place.h:
// where[images][MAPS][ROWS][COLUMNS]. Its kernel and its functions then have one more argument
// after `out` and pointers into it.

#pragma once

#include "conv2d/gpu/pool_folded/folded.h"
#if WINNERS
#include "common/winner.h"
#include "common/winner_place.h"
#define WHERE_ARGUMENT , winner_place* where
#define WHERE_AT(place) , place
#define WHERE(offset) WHERE_AT(where + (offset))
#else
#define WHERE_ARGUMENT
#define WHERE_AT(place)
#define WHERE(offset)
#endif

#define IS_NAN(y) (WIDE_RESULT(y) != WIDE_RESULT(y))

// A weight as the cores see it.
__device__ __forceinline__ float tap(const element* weights, int map, int c, int p, int q);

// The pool over some of a window's sums; with WINNERS also where the largest stands in its window.
struct pooled {
    float sum;
#if WINNERS
    int place;
#endif
};

// The pool over what two have seen.
__device__ __forceinline__ struct pooled together(struct pooled one, struct pooled other)
{
#if WINNERS
    bool equal = !BEATS(one.sum, other.sum), earlier = other.place < one.place;
    bool wins = BEATS(other.sum, one.sum) | (earlier & equal);
    one.sum = wins ? other.sum : one.sum, one.place = wins ? other.place : one.place;
#else
    one.sum = POOL_WITH(one.sum, other.sum);
#endif
    return one;
}

// The same where the other stands behind the first in its window.  Of NaNs the place is none: such
// results are computed from their definition.
__device__ __forceinline__ struct pooled with_later(struct pooled one, struct pooled other)
{
#if WINNERS
    one.place = other.sum > one.sum ? other.place : one.place;
#endif
    one.sum = POOL_WITH(one.sum, other.sum);
    return one;
}

// The pool over those lanes whose numbers differ by multiples of `from` up to `to`.
__device__ __forceinline__ struct pooled of_lanes(struct pooled most, int from, int to)
{
    UNROLL for (int apart = from; apart < to; apart *= 2) {
        struct pooled other = most;
        other.sum = __shfl_xor_sync(~0u, most.sum, apart);
#if WINNERS
        other.place = __shfl_xor_sync(~0u, most.place, apart);
#endif
        most = together(most, other);
    }
    return most;
}

// A result of the pool over a window's sums, or over activations where it is an average.
__device__ __forceinline__ float completed(float most, float shift)
{
    return POOL_AVERAGE ? POOL_END(most) : activate(most + shift);
}

#if WINNERS
// A window's argmax, from its position in the window and the result y.
__device__ __forceinline__ winner_place won(int position, int row, int column, result y)
{
#if WHERE_NARROW
    return CUT(WIDE_RESULT(y)) ? NO_WINNER : position;
#else
    return (row * POOL_HEIGHT + position / POOL_WIDTH) * CONV_COLUMNS + column * POOL_WIDTH +
           position % POOL_WIDTH;
#endif
}
#endif

// Lanes that share out the taps of a position, so that a warp has all positions of a pool at once.
#define POOL_SIZE (POOL_HEIGHT * POOL_WIDTH)
#define SHARERS (POOL_SIZE <= 4 ? 8 : POOL_SIZE <= 8 ? 4 : POOL_SIZE <= 16 ? 2 : 1)

// A warp computes one result from its definition.  That is for results where a zero of the folded
// mask met an infinity or NaN, or where a split could not hold a number.
__device__ __noinline__ struct pooled directly(const given* image, const element* weights,
                                               float shift, int map, int row, int column)
{
    const int lane = threadIdx.x % 32;
    struct pooled most;
    most.sum = POOL_START;
#if WINNERS
    most.place = POOL_SIZE;
#endif
    ROLLED for (int first = 0; first < POOL_SIZE; first += 32 / SHARERS) {
        int position = first + lane / SHARERS;
        int top = row * POOL_HEIGHT + position / POOL_WIDTH - PAD_Y;
        int left = column * POOL_WIDTH + position % POOL_WIDTH - PAD_X;
        float sum = 0.0f;
        UNROLL_BY(2) for (int k = lane % SHARERS; k < FILTER_SIZE; k += SHARERS) {
            int c = k / MASK_SIZE, p = k / MASK_WIDTH % MASK_HEIGHT, q = k % MASK_WIDTH;
            int i = top + p, j = left + q;
            bool inside = i >= 0 && i < HEIGHT && j >= 0 && j < WIDTH;
            float value = inside ? VALUE(image[(c * HEIGHT + i) * WIDTH + j]) : 0.0f;
            sum += tap(weights, map, c, p, q) * value;
        }
        UNROLL for (int apart = 1; apart < SHARERS; apart *= 2)
            sum += __shfl_xor_sync(~0u, sum, apart);
        struct pooled one;
        one.sum = POOL_AVERAGE ? activate(sum + shift) : sum;
#if WINNERS
        one.place = position;
#endif
        if (position < POOL_SIZE) most = together(most, one);
    }
    most = of_lanes(most, SHARERS, 32);
    most.sum = completed(most.sum, shift);
    return most;
}

// The pool over a fold's window, or over the eight sums of two adjacent ones (BESIDE), of one group
// of maps and one half of the band. An average needs the activations first.
__device__ __forceinline__ struct pooled of_four(const float sum[8], int half, float shift)
{
    struct pooled most;
    UNROLL for (int row = 0; row < 2; row++)
        UNROLL for (int column = 0; column < 4 / HALVES; column++) {
            struct pooled one;
            one.sum = sum[4 * row + 2 * half + column];
            if (POOL_AVERAGE) one.sum = activate(one.sum + shift);
#if WINNERS
            one.place = row * POOL_WIDTH + column;
#endif
            most = row + column == 0 ? one : with_later(most, one);
        }
    return most;
}

// True if a lane holds a result. The compiler sees that all do where the sizes leave none over.
__device__ __forceinline__ bool held(int map, int window, int row)
{
    bool column = FOLD_COLUMNS % STRIP_COLUMNS == 0 || window < FOLD_COLUMNS;
    bool rows = (ROWS % BAND_ROWS == 0 && BAND_ROWS % HALVES == 0) || row < ROWS;
    return window % WINDOWS_RIGHT == 0 && column && rows && (MAPS % 4 == 0 || map < MAPS);
}

// Adds what one step's fold has given to the pool's window.  Returns whether the lane's part of the
// window is complete.
__device__ __forceinline__ bool add_fold(struct pooled fold, struct pooled* most, int step,
                                         int window)
{
#if WINNERS
    fold.place += 2 * (step % WINDOWS_DOWN) * POOL_WIDTH + 2 * (window % WINDOWS_RIGHT);
#endif
    *most = step % WINDOWS_DOWN ? with_later(*most, fold) : fold;
    return (step + 1) % WINDOWS_DOWN == 0;
}

// The lanes' parts of a window.
__device__ __forceinline__ struct pooled whole_window(struct pooled most)
{
    return of_lanes(most, 4, 2 * HALVES * WINDOWS_RIGHT);
}

// Stores a window's result.  Returns whether that is NaN.
__device__ __forceinline__ bool store_window(struct pooled all, float shift, int step, int start,
                                             int half, result* place WHERE_ARGUMENT, int map,
                                             int window, int top)
{
    int row = half * HALF_ROWS + (start + step) / WINDOWS_DOWN;
    float y = completed(all.sum, shift);
    if (held(map, window, top + row)) {
        place[row * COLUMNS] = RESULT(y);
#if WINNERS
        where[row * COLUMNS] = won(all.place, top + row, window / WINDOWS_RIGHT, RESULT(y));
#endif
    }
    return y != y;
}

// Does both where a step's fold completes the window.
__device__ __forceinline__ bool pool_step(struct pooled fold, struct pooled* most, float shift,
                                          int step, int start, int half,
                                          result* place WHERE_ARGUMENT, int map, int window,
                                          int top)
{
    return add_fold(fold, most, step, window) &&
           store_window(whole_window(*most), shift, step, start, half, place WHERE(0), map,
                        window, top);
}

// Computes a task's results that are NaN from their definition, one by one.
__device__ __noinline__ void repair(const given* image, const element* weights, float shift,
                                    result* results WHERE_ARGUMENT, int map, int window, int top,
                                    int start)
{
    const int rows = STEPS / WINDOWS_DOWN, column = window / WINDOWS_RIGHT;
    ROLLED for (int e = 0; e < HALVES * rows; e++) {
        int row = start + e / rows * HALF_ROWS + e % rows;
        int at = map * MAP_PITCH + row * COLUMNS + column;
        bool wrong = held(map, window, top + row) && IS_NAN(results[at]);
        unsigned left = __ballot_sync(~0u, wrong);
        ROLLED for (; left; left &= left - 1) {
            int lane = __ffs(left) - 1;
            struct pooled right = directly(image, weights, __shfl_sync(~0u, shift, lane),
                                           __shfl_sync(~0u, map, lane), top + row,
                                           __shfl_sync(~0u, column, lane));
            if (threadIdx.x % 32 != lane) continue;
            results[at] = RESULT(right.sum);
#if WINNERS
            where[at] = won(right.place, top + row, column, results[at]);
#endif
        }
    }
}

// A zero of the folded mask makes NaN of an infinity that no mask should have met.  What a split
// could not hold becomes NaN too.  A task with any such result is looked through.
__device__ __forceinline__ void repair_task(bool doubtful, const given* image,
                                            const element* weights, const float shift[GROUPS],
                                            result* results WHERE_ARGUMENT, int map, int window,
                                            int top, int start)
{
    if (__any_sync(~0u, doubtful))
        UNROLL for (int m = 0; m < GROUPS; m++)
            repair(image, weights, shift[m], results WHERE(0), map + 4 * m, window, top,
                   start / WINDOWS_DOWN);
}
