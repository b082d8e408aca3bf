// naive: a thread a byte, its window by the definition.
//
// Only pixels inside the picture count, in the sum and in the divisor.
//
// image[height][width][CHANNELS], blurred[height][width][CHANNELS].
// Grid: x over blocks of bytes of a row, y over blocks of rows.
// Block: x over ACROSS bytes, y over DOWN rows.

__global__ void naive(const GLOBAL unsigned char* image, GLOBAL unsigned char* blurred,
                      int64 height, int64 width)
{
    int64 at = (int64)blockIdx.x * ACROSS + threadIdx.x, columns = width * CHANNELS;
    if (at >= columns) return;
    int64 column = at / CHANNELS, channel = at % CHANNELS;
    int64 left = column < RADIUS ? 0 : column - RADIUS;
    int64 right = column + RADIUS < width ? column + RADIUS : width - 1;
    for (int64 row = (int64)blockIdx.y * DOWN + threadIdx.y; row < height;
         row += (int64)gridDim.y * DOWN) {
        int64 top = row < RADIUS ? 0 : row - RADIUS;
        int64 bottom = row + RADIUS < height ? row + RADIUS : height - 1;
        unsigned total = 0;
        for (int64 i = top; i <= bottom; i++)
            for (int64 j = left; j <= right; j++)
                total += image[i * columns + j * CHANNELS + channel];
        unsigned count = (bottom - top + 1) * (right - left + 1);
        blurred[row * columns + at] = total / count;
    }
}
