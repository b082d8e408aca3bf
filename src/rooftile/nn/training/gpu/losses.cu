// The loss of each row of outputs and its gradient, of the mean over all rows: one thread a row.
//
// KIND: 0 the cross-entropy of a sigmoid of y[images][1] and a label, 1 FACTOR times the square of
// what y is off, 2 one less y at the label, 3 y times the square of the distance to the label.
//
// y[images][OUTPUTS]; labels[images] or, with NUMBERS, wanted[images][OUTPUTS], which are the same
// memory; loss[images], dy[images][OUTPUTS].  Grid: x over the rows.

#ifdef __OPENCL_VERSION__
#define logf log
#define log1pf log1p
#endif

// What an output should be: a number; of labels the only output's the label, others' one or zero.
__device__ __forceinline__ float aim(const GLOBAL int* labels, const GLOBAL float* wanted, int n, int k)
{
    if (NUMBERS) return wanted[(int64)n * OUTPUTS + k];
    return OUTPUTS == 1 ? (float)labels[n] : k == labels[n] ? 1.0f : 0.0f;
}

__global__ void loss_of_rows(const GLOBAL float* __restrict__ y, const GLOBAL int* labels,
                             const GLOBAL float* wanted, GLOBAL float* __restrict__ loss,
                             GLOBAL float* __restrict__ dy, int images)
{
    int n = blockIdx.x * 256 + threadIdx.x;
    if (n >= images) return;
    float sum = 0.0f, share = 1.0f / (float)images;
    for (int k = 0; k < OUTPUTS; k++) {
        float value = y[(int64)n * OUTPUTS + k], slope = 0.0f;
        if (KIND == 0) {
            // The exponential of no positive number overflows.
            float label = (float)labels[n], small = expf(-fabsf(value));
            float likely = (value < 0.0f ? small : 1.0f) / (1.0f + small);
            sum = maximum(value, 0.0f) - value * label + log1pf(small), slope = likely - label;
        } else if (KIND == 1) {
            float off = value - aim(labels, wanted, n, k);
            sum += FACTOR * (off * off), slope = 2.0f * FACTOR * off;
        } else if (KIND == 2) {
            if (k == labels[n]) sum = 1.0f - value, slope = -1.0f;
        } else {
            float distance = (float)(k - labels[n]);
            sum += value * (distance * distance), slope = distance * distance;
        }
        dy[(int64)n * OUTPUTS + k] = slope * share;
    }
    loss[n] = sum;
}
