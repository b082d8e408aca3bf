// naive: one thread makes one row.
//
// Three passes: the largest element, the exponentials of the distances to it with their sum, the
// division.  NaN and +inf make the whole row NaN: inf - inf is, and so is then the sum.
//
// x[images][CLASSES], out[images][CLASSES].
// Grid: x over the rows.

__global__ void naive(const GLOBAL float* x, GLOBAL float* out, int images)
{
    int64 row = (int64)blockIdx.x * BLOCK + threadIdx.x;
    if (row >= images) return;

    const GLOBAL float* given = x + (size_t)row * CLASSES;
    GLOBAL float* made = out + (size_t)row * CLASSES;
    float largest = -INFINITY, sum = 0.0f;
    for (int j = 0; j < CLASSES; j++) largest = maximum(largest, given[j]);
    for (int j = 0; j < CLASSES; j++) {
        float e = expf(given[j] - largest);
        made[j] = e;
        sum += e;
    }
    for (int j = 0; j < CLASSES; j++) made[j] /= sum;
}
