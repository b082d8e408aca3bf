// The argmax of a window: the first of its largest elements, in the order of rows, and the first
// NaN over everything else.
//
// WINDOW_HEIGHT and WINDOW_WIDTH are the pool's, where a text has it, and WIDTH the image's.

#pragma once

// No operand is left out where another one decides: a branch would have compilers put sums off until
// they are asked for, and hold all that these are made of meanwhile.
#define BEATS(value, best) (((value) > (best)) | (((value) != (value)) & ((best) == (best))))

#ifdef WINDOW_HEIGHT
// The argmax of the window that begins at `first`: row * WIDTH + column in the plane.
__device__ __forceinline__ int winner(const GLOBAL float* plane, int first)
{
    int place = first;
    float best = plane[first];
    for (int a = 0; a < WINDOW_HEIGHT; a++)
        for (int b = 0; b < WINDOW_WIDTH; b++) {
            int here = first + a * WIDTH + b;
            float value = plane[here];
            if (BEATS(value, best)) best = value, place = here;
        }
    return place;
}
#endif
