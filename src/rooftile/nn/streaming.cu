// What a stream of images needs beside the layers: pixels become numbers, scores become labels.

// words[ceil(count / 4)] hold pixels uint8[count]; values[256] -> x[count], the value of each
// pixel. A table instead of a product: so its bits are those of the host's preparation.
// Grid: x over blocks of THREADS words; a thread takes one word, four pixels.
__global__ void standardise(const GLOBAL unsigned* __restrict__ words,
                            const GLOBAL float* __restrict__ values, GLOBAL float* __restrict__ x,
                            int64 count)
{
    __shared__ float table[256];
    for (int i = threadIdx.x; i < 256; i += THREADS)
        table[i] = values[i];
    __syncthreads();
    int64 word = (int64)blockIdx.x * THREADS + threadIdx.x, first = 4 * word;
    if (first >= count) return;
    unsigned four = words[word];
    float4 result = make_float4(table[four & 255], table[four >> 8 & 255],
                                table[four >> 16 & 255], table[four >> 24]);
    if (first + 4 <= count) {
        *(GLOBAL float4*)(x + first) = result;
        return;
    }
    x[first] = result.x;
    if (first + 1 < count) x[first + 1] = result.y;
    if (first + 2 < count) x[first + 2] = result.z;
}

// scores[images, CLASSES] -> labels int64[images]: the first of the largest, or the first NaN, as
// NumPy's argmax.  Grid: x over images, a thread an image.
__global__ void most_likely(const GLOBAL float* __restrict__ scores, GLOBAL int64* labels,
                            int images)
{
    int image = blockIdx.x * THREADS + threadIdx.x;
    if (image >= images) return;
    const GLOBAL float* row = scores + (int64)image * CLASSES;
    int best = 0;
    for (int i = 1; i < CLASSES; i++)
        if (row[best] == row[best] && !(row[i] <= row[best])) best = i;
    labels[image] = best;
}
