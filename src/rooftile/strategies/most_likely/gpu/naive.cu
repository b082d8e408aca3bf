// naive: one thread finds the label of one row of scores.
//
// scores[images][CLASSES] -> labels int64[images]: the first of the largest, or the first NaN, as
// NumPy's argmax; of one score 1 where it is above one half, else 0.  Grid: x over the rows.

__global__ void naive(const GLOBAL float* __restrict__ scores, GLOBAL int64* labels,
                      int images)
{
    int image = blockIdx.x * THREADS + threadIdx.x;
    if (image >= images) return;
    const GLOBAL float* row = scores + (int64)image * CLASSES;
#if CLASSES == 1
    int best = row[0] > 0.5f;
#else
    int best = 0;
    for (int i = 1; i < CLASSES; i++)
        if (row[best] == row[best] && !(row[i] <= row[best])) best = i;
#endif
    labels[image] = best;
}
