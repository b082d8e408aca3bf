// One output's part of its row's loss, and the loss's slope there.
//
// KIND: 0 the cross-entropy of a sigmoid of y[rows][1] and a label, 1 FACTOR times the square of
// y's error, 2 one less y at the label, 3 y times the square of the distance to the label.

#ifdef __OPENCL_VERSION__
#define logf log
#define log1pf log1p
#endif

// The target of an output: a number; of labels the only output's the label, others' one or zero.
__device__ __forceinline__ float aim(const GLOBAL int* labels, const GLOBAL float* wanted, int n, int k)
{
    if (NUMBERS) return wanted[(int64)n * OUTPUTS + k];
    return OUTPUTS == 1 ? (float)labels[n] : k == labels[n] ? 1.0f : 0.0f;
}

// Adds what output k of row n costs to the row's sum; gives the loss's slope there.
__device__ __forceinline__ float cost_of(float value, const GLOBAL int* labels,
                                         const GLOBAL float* wanted, int n, int k, float* sum)
{
    if (KIND == 0) {
        // The exponential of no positive number overflows.
        float label = (float)labels[n], small = expf(-fabsf(value));
        float likely = (value < 0.0f ? small : 1.0f) / (1.0f + small);
        *sum = maximum(value, 0.0f) - value * label + log1pf(small);
        return likely - label;
    }
    if (KIND == 1) {
        float off = value - aim(labels, wanted, n, k);
        *sum += FACTOR * (off * off);
        return 2.0f * FACTOR * off;
    }
    if (KIND == 2) {
        float slope = 0.0f;
        if (k == labels[n]) *sum = 1.0f - value, slope = -1.0f;
        return slope;
    }
    float distance = (float)(k - labels[n]);
    *sum += value * (distance * distance);
    return distance * distance;
}
