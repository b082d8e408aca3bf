// naive: one thread brings the place of one window's winner into the window.
//
// where[count] and made[count]: row * width + column, of windows[planes][rows][columns].
// Grid: x over blocks of windows.  Block: x over THREADS threads.

__device__ __forceinline__ int between(int value, int least, int most)
{
    return value < least ? least : value > most ? most : value;
}

__global__ void naive(const GLOBAL int* where, GLOBAL int* made, int rows, int columns,
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
