// Before warpgroups.cu: the sizes of a stage, the elements of the cores, and how weights are laid.

#define ROWS (64 * WARPGROUPS)
#define X_BYTES (X_NARROW ? 2 : 4)
#define W_BYTES (CORES == 2 ? 4 : 2)
#define SLICE (128 / X_BYTES)
#define SLICES (PADDED_INPUTS / SLICE)
// Of the cores, in a slice; a lane's words of a row, of one of a slice's two pieces, are as many.
#define STEPS (SLICE * W_BYTES / 32)
#define PLANE_BYTES (TILE_O * SLICE * W_BYTES)
#define STAGE_BYTES (ROWS * 128 + NUMBERS * PLANE_BYTES)

#if CORES == 2
typedef unsigned element;
#else
typedef narrow element;
#endif

// A weight for the cores: number 1 is what rounding left.
__device__ __forceinline__ element element_of(float value, int number)
{
#if NUMBERS == 2
    unsigned halves[2];
    split(value, halves, halves + 1);
    return halves[number];
#elif CORES == 2
    return tf32(value);
#else
    return NARROW(value);
#endif
}

// The weights as stages hold them, zeros around them.  Grid: a thread an element.
__global__ __launch_bounds__(PACK_THREADS) void round_weights(const float* __restrict__ weights,
                                                              element* __restrict__ rounded)
{
    const int plane = PLANE_BYTES / W_BYTES, piece = 16 / W_BYTES;
    size_t e = (size_t)blockIdx.x * PACK_THREADS + threadIdx.x;
    if (e >= (size_t)PADDED_OUTPUTS * PADDED_INPUTS) return;
    int slice = e / plane % SLICES, tile = e / plane / SLICES, at = e % plane;
    int i = at % piece, half = at / (piece * TILE_O) % 2, step = at / (2 * piece * TILE_O);
    int output = tile * TILE_O + at / piece % TILE_O;
    // The lane that holds it, of four, and where among the lane's inputs of the step.
    int lane = CORES == 2 ? i : i / 2, place = CORES == 2 ? half : 2 * half + i % 2;
    int input = slice * SLICE + lane * (SLICE / 4) + step * (CORES == 2 ? 2 : 4) + place;
    bool inside = output < OUTPUTS && input < INPUTS;
    float value = inside ? weights[(size_t)output * INPUTS + input] : 0.0f;
    UNROLL for (int number = 0; number < NUMBERS; number++)
        rounded[(e / plane * NUMBERS + number) * plane + at] = element_of(value, number);
}

