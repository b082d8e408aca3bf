// The end of a stream of images, after the layers: scores become labels.

// scores[images, CLASSES] -> labels int64[images]: the first of the largest, or the first NaN, as
// NumPy's argmax; of one score 1 where it is above one half, else 0, as Interface.labels.  Grid: x over images, a thread an image.
__global__ void most_likely(const GLOBAL float* __restrict__ scores, GLOBAL int64* labels,
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
