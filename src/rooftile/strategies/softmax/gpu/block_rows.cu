// block_rows: a team of threads makes one row.
//
// In `naive`, neighbouring threads read a row apart, and few rows leave most of the device idle.
// Here a team of TEAM threads walks along a row, so that neighbours read neighbouring words; the
// largest element and the sum are joined by a tree in shared memory.  The exponentials are
// computed twice, which costs less than writing and reading them.  What it removes: reads far
// apart, one read and one write of the result; and it occupies the device with fewer rows.
//
// x[images][CLASSES], out[images][CLASSES].
// Grid: x over blocks of ROWS rows.
// Block: x over TEAM (a power of two, the tunable GROUP) threads of a row, y over ROWS rows.

__global__ void LAUNCH_BOUNDS(TEAM * ROWS)
block_rows(const GLOBAL float* __restrict__ x, GLOBAL float* __restrict__ out, int images)
{
    __shared__ float joined[ROWS][TEAM];
    int lane = threadIdx.x, slot = threadIdx.y;
    int64 row = (int64)blockIdx.x * ROWS + slot;
    // Rows beyond the last repeat the last, and are not written.
    const GLOBAL float* given = x + (size_t)(row < images ? row : images - 1) * CLASSES;

    float value = -INFINITY;
    for (int j = lane; j < CLASSES; j += TEAM) value = maximum(value, given[j]);
    joined[slot][lane] = value;
    for (int reach = TEAM / 2; reach > 0; reach /= 2) {
        __syncthreads();
        if (lane < reach)
            joined[slot][lane] = maximum(joined[slot][lane], joined[slot][lane + reach]);
    }
    __syncthreads();
    float largest = joined[slot][0];
    // The sums overwrite what all threads have read.
    __syncthreads();

    float sum = 0.0f;
    for (int j = lane; j < CLASSES; j += TEAM) sum += expf(given[j] - largest);
    joined[slot][lane] = sum;
    for (int reach = TEAM / 2; reach > 0; reach /= 2) {
        __syncthreads();
        if (lane < reach) joined[slot][lane] += joined[slot][lane + reach];
    }
    __syncthreads();
    sum = joined[slot][0];

    if (row < images)
        for (int j = lane; j < CLASSES; j += TEAM)
            out[(size_t)row * CLASSES + j] = expf(given[j] - largest) / sum;
}
