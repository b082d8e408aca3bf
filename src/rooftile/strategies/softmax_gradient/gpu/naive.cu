// naive: one thread makes one row.
//
// y[images][CLASSES], dy[images][CLASSES], dx[images][CLASSES].
// Grid: x over the rows.

__global__ void naive(const GLOBAL float* y, const GLOBAL float* dy, GLOBAL float* dx,
                      int images)
{
    int64 row = (int64)blockIdx.x * BLOCK + threadIdx.x;
    if (row >= images) return;

    int64 first = row * CLASSES;
    float sum = 0.0f;
    for (int k = 0; k < CLASSES; k++) sum += y[first + k] * dy[first + k];
    for (int k = 0; k < CLASSES; k++) dx[first + k] = y[first + k] * (dy[first + k] - sum);
}
