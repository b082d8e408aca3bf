// tiled: the bytes of a block's windows lie in shared memory.
//
// In `naive` every byte is read from device memory or its caches once for each window that it is
// in.  Here the block reads its tile, with RADIUS rows and columns around it, once; zeros stand
// for what is outside.  What it removes: reads of device memory.  The additions stay.
//
// image[height][width][CHANNELS], blurred[height][width][CHANNELS].
// Grid: x over tiles of bytes of a row, y over tiles of rows.
// Block: x over ACROSS bytes, y over DOWN rows of a tile.

#define HALO (RADIUS * CHANNELS)
#define TILE_COLUMNS (ACROSS + 2 * HALO)
#define TILE_ROWS (DOWN + 2 * RADIUS)

__global__ void LAUNCH_BOUNDS(ACROSS * DOWN)
tiled(const GLOBAL unsigned char* __restrict__ image, GLOBAL unsigned char* __restrict__ blurred,
      int64 height, int64 width)
{
    __shared__ unsigned char tile[TILE_ROWS][TILE_COLUMNS];
    int64 left = (int64)blockIdx.x * ACROSS, top = (int64)blockIdx.y * DOWN;
    int64 columns = width * CHANNELS;
    int across = threadIdx.x, down = threadIdx.y;
    for (int i = down; i < TILE_ROWS; i += DOWN)
        for (int j = across; j < TILE_COLUMNS; j += ACROSS) {
            int64 row = top + i - RADIUS, at = left + j - HALO;
            int inside = row >= 0 && row < height && at >= 0 && at < columns;
            tile[i][j] = inside ? image[row * columns + at] : 0;
        }
    __syncthreads();
    int64 row = top + down, at = left + across, column = at / CHANNELS;
    if (row >= height || at >= columns) return;
    unsigned total = 0;
    for (int i = 0; i <= 2 * RADIUS; i++)
        for (int j = 0; j <= 2 * RADIUS; j++) total += tile[down + i][across + j * CHANNELS];
    int64 first = row < RADIUS ? 0 : row - RADIUS, before = column < RADIUS ? 0 : column - RADIUS;
    int64 last = row + RADIUS < height ? row + RADIUS : height - 1;
    int64 behind = column + RADIUS < width ? column + RADIUS : width - 1;
    unsigned count = (last - first + 1) * (behind - before + 1);
    blurred[row * columns + at] = total / count;
}
