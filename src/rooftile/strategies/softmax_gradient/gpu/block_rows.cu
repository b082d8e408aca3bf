// block_rows: a team of threads makes one row.
//
// In `naive`, neighbouring threads read a row apart, and few rows leave most of the device idle.
// Here a team of TEAM threads walks along a row, so that neighbours read neighbouring words, and the
// sum is joined by a tree in shared memory.  What it removes: reads far apart.
//
// y[images][CLASSES], dy[images][CLASSES], dx[images][CLASSES].
// Grid: x over blocks of TEAMS rows.
// Block: x over TEAM (a power of two) threads of a row, y over TEAMS rows.

__global__ void LAUNCH_BOUNDS(TEAM * TEAMS)
block_rows(const GLOBAL float* __restrict__ y, const GLOBAL float* __restrict__ dy,
           GLOBAL float* __restrict__ dx, int images)
{
    __shared__ float joined[TEAMS][TEAM];
    int lane = threadIdx.x, slot = threadIdx.y;
    int64 row = (int64)blockIdx.x * TEAMS + slot;
    // Rows beyond the last repeat the last, and are not written.
    int64 first = (row < images ? row : images - 1) * CLASSES;

    float sum = 0.0f;
    for (int k = lane; k < CLASSES; k += TEAM) sum += y[first + k] * dy[first + k];
    joined[slot][lane] = sum;
    for (int reach = TEAM / 2; reach > 0; reach /= 2) {
        __syncthreads();
        if (lane < reach) joined[slot][lane] += joined[slot][lane + reach];
    }
    __syncthreads();
    sum = joined[slot][0];

    int end = row < images ? CLASSES : 0;
    for (int k = lane; k < end; k += TEAM) dx[first + k] = y[first + k] * (dy[first + k] - sum);
}
