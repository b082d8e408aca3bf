// Before warpgroups.cu: how a tile's sums become results, and those of parts one sum.

#if NUMBERS == 2
// A sum from its definition: where split products are none of float32's.
__device__ __forceinline__ float directly(const float* x, const float* weights, int64 n, int output)
{
    float sum = 0.0f;
    _Pragma("unroll 1") for (int k = 0; k < INPUTS; k++)
        sum += x[n * INPUTS + k] * weights[(size_t)output * INPUTS + k];
    return sum;
}

// What a thread has stored as NaN.
__device__ __forceinline__ void repair(const float* x, const float* weights, const float* bias,
                                       float* out, int64 first, int images, int output)
{
    _Pragma("unroll 1") for (int e = 0; e < TILE_O / 2; e++) {
        int64 n = first + e % 2 * 8;
        int o = output + e / 4 * 8 + e / 2 % 2;
        if (n >= images || o >= OUTPUTS) continue;
        float* to = out + n * OUTPUTS + o;
        if (*to != *to) *to = activate(directly(x, weights, n, o) + bias[o]);
    }
}
#endif

// A lane's two neighbouring results of a row.
__device__ __forceinline__ void store(result* to, int output, float y0, float y1)
{
    if (output >= OUTPUTS) return;
#if OUTPUTS % 2 == 0
    *(result_2*)to = RESULT_2(y0, y1);
#else
    to[0] = RESULT(y0);
    if (output + 1 < OUTPUTS) to[1] = RESULT(y1);
#endif
}

// Bias and activation of a whole tile.  A lane holds, of every eight outputs, two of two images
// eight rows apart, from `first` and `output` on.
__device__ __forceinline__ void store_tile(float sum[TILE_O / 2], const float* bias, result* out,
                                           int64 first, int images, int output)
{
    UNROLL for (int e = 0; e < TILE_O / 2; e += 4) {
        int o = output + 2 * e;
        float shift[2];
        UNROLL for (int i = 0; i < 2; i++) shift[i] = o + i < OUTPUTS ? __ldg(bias + o + i) : 0.0f;
        UNROLL for (int i = 0; i < 4; i += 2) {
            int64 n = first + 4 * i;
            float y0 = sum[e + i], y1 = sum[e + i + 1];
#if NUMBERS == 2
            // Infinity times zero: an overflow of the split is for `repair` to judge.
            y0 = fmaf(0.0f, y0, y0), y1 = fmaf(0.0f, y1, y1);
#endif
            if (n < images)
                store(out + n * OUTPUTS + o, o, activate(y0 + shift[0]), activate(y1 + shift[1]));
        }
    }
}

#if PARTS > 1
// The sums of a part, of images from `first` on among the `images` that are computed in parts.
__device__ __forceinline__ void store_part(float sum[TILE_O / 2], float* partial, int64 first,
                                           int images, int output)
{
    UNROLL for (int e = 0; e < TILE_O / 2; e++) {
        int64 n = first + e / 2 % 2 * 8;
        int o = output + e / 4 * 8 + e % 2;
        if (n < images && o < OUTPUTS) partial[n * OUTPUTS + o] = sum[e];
    }
}
#endif

#if PARTS > 1
// The parts' sums, added in their order.  Grid: x over the results of images computed in parts.
__global__ __launch_bounds__(PACK_THREADS) void finish(const given* __restrict__ x,
                                                       const float* __restrict__ weights,
                                                       const float* __restrict__ partial,
                                                       const float* __restrict__ bias,
                                                       result* __restrict__ out, int images,
                                                       int whole)
{
    int64 before = (int64)whole * ROWS, results = (images - before) * OUTPUTS;
    int64 e = (int64)blockIdx.x * PACK_THREADS + threadIdx.x;
    if (e >= results) return;
    float sum = 0.0f;
    UNROLL for (int part = 0; part < PARTS; part++) sum += partial[part * results + e];
    int64 n = before + e / OUTPUTS;
    int output = e % OUTPUTS;
#if NUMBERS == 2
    if (!(fabsf(sum) < INFINITY)) sum = directly(x, weights, n, output);
#endif
    out[n * OUTPUTS + output] = RESULT(activate(sum + bias[output]));
}
#endif
