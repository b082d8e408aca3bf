// The argmax of max-pools' windows, each clamped to its window.
//
// A thread takes a window. The row and the column of its place are clamped to the window, so that
// no kernel that follows reads or writes outside of an array, whatever the caller's places are.
//
// where[count] and made[count]: row * width + column, of windows[planes][rows][columns].
// Grid: x over blocks of windows.  Block: x over THREADS threads.

__device__ __forceinline__ int between(int value, int least, int most)
{
    return value < least ? least : value > most ? most : value;
}

__global__ void nearest_places(const GLOBAL int* where, GLOBAL int* made, int rows, int columns,
                               int width, int high, int wide, int down, int right, int64 count)
{
    int64 number = (int64)blockIdx.x * THREADS + threadIdx.x;
    if (number >= count) return;
    int top = (int)(number / columns % rows) * down, left = (int)(number % columns) * right;
    int place = where[number];
    int row = between(place / width, top, top + high - 1);
    int column = between(place % width, left, left + wide - 1);
    made[number] = row * width + column;
}
