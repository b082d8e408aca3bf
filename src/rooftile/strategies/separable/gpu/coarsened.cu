// coarsened: the column's sums in registers, straight from global memory, in vectors.
//
// In `shared` every input passes through shared memory twice, a word at a time.  Here a thread walks
// down ROWS + HIGH - 1 rows of one quad, four neighbouring columns, and adds each input to all of the
// ROWS sums that it belongs to: a load of 16 bytes serves HIGH of them, and the halo above and
// below is read again only by the next team.  Only the sums go to shared memory, as vectors, from
// where each thread makes ROWS quads of outputs.  What it removes: the input tile, one of two barriers,
// three loads of four, three stores of four.
//
// A row of LANES quads makes MADE quads of outputs; the others are halo.  Where rows begin at no
// multiple of 16 bytes, VECTOR_IN or VECTOR_OUT is 0, and elements are moved one by one.
//
// x[images][height][width], down_taps[HIGH], across_taps[WIDE], out[images][rows][columns].
// Grid: x and y over tiles of 4 MADE x ROWS TEAMS, z over images.
// Block: x over LANES quads, y over TEAMS of ROWS rows.

#include "separable.h"

CONSTANT_ARRAY(float, down_taps, HIGH)
CONSTANT_ARRAY(float, across_taps, WIDE)

// A tile's input begins ROUNDED columns before its outputs, a multiple of four; the first SKIPPED of
// a window meet no tap.
#define ROUNDED ((LEFT + 3) / 4 * 4)
#define SKIPPED (ROUNDED - LEFT)
#define WINDOW ((SKIPPED + WIDE + 3 + 3) / 4 * 4)
#define MADE (LANES - (WINDOW / 4 - 1))

// Four neighbouring inputs.
__device__ __forceinline__ float4 quad_of(const GLOBAL float* from)
{
#if VECTOR_IN
    return *(const GLOBAL float4*)from;
#else
    return make_float4(from[0], from[1], from[2], from[3]);
#endif
}

// Store four neighbouring outputs, or as many as the row has.
__device__ __forceinline__ void put(GLOBAL float* row, int column, int columns, const float made[4])
{
#if VECTOR_OUT
    ((GLOBAL float4*)row)[column / 4] = make_float4(made[0], made[1], made[2], made[3]);
#else
    UNROLL for (int v = 0; v < 4; v++)
        if (column + v < columns) row[column + v] = made[v];
#endif
}

__global__ void LAUNCH_BOUNDS(LANES * TEAMS)
coarsened(const GLOBAL float* __restrict__ x, GLOBAL float* __restrict__ out, int height, int width,
          int rows, int columns,
          int images CONSTANT_ARGUMENT(float, down_taps) CONSTANT_ARGUMENT(float, across_taps))
{
    __shared__ float4 sums[TEAMS * ROWS][LANES];
    int lane = threadIdx.x, team = threadIdx.y;
    int first = (blockIdx.y * TEAMS + team) * ROWS, column = (blockIdx.x * MADE + lane) * 4;
    // The thread's first input.
    int top = first - TOP, left = column - ROUNDED;
    int whole = top >= 0 && top + ROWS + HIGH - 1 <= height && left >= 0 && left + 4 <= width;
    // Some output needs its sums; quads of outputs may end up to three columns beyond the row.
    int used = first < rows && left < columns + 3 + WIDE - 1 - LEFT;

    for (int n = blockIdx.z; n < images; n += gridDim.z) {
        const GLOBAL float* image = x + (int64)n * height * width;
        if (whole) {
            const GLOBAL float* from = image + (int64)top * width + left;
            float made[ROWS][4], parts[ROWS][4];
            UNROLL for (int r = 0; r < ROWS; r++)
                UNROLL for (int v = 0; v < 4; v++) made[r][v] = parts[r][v] = 0.0f;
            UNROLL for (int e = 0; e < ROWS + HIGH - 1; e++) {
                float4 four = quad_of(from + (int64)e * width);
                UNROLL for (int r = 0; r < ROWS; r++) {
                    int p = e - r;
                    if (p < 0 || p >= HIGH) continue;
                    parts[r][0] += down_taps[p] * four.x;
                    parts[r][1] += down_taps[p] * four.y;
                    parts[r][2] += down_taps[p] * four.z;
                    parts[r][3] += down_taps[p] * four.w;
                    if (p % PART_TAPS < PART_TAPS - 1 && p < HIGH - 1) continue;
                    UNROLL for (int v = 0; v < 4; v++) {
                        made[r][v] += parts[r][v];
                        parts[r][v] = 0.0f;
                    }
                }
            }
            UNROLL for (int r = 0; r < ROWS; r++)
                sums[team * ROWS + r][lane] =
                    make_float4(made[r][0], made[r][1], made[r][2], made[r][3]);
        } else {
            ROLLED for (int r = 0; r < ROWS; r++) {
                float made[4] = {0.0f, 0.0f, 0.0f, 0.0f};
                ROLLED for (int begin = 0; used && begin < HIGH; begin += PART_TAPS) {
                    float parts[4] = {0.0f, 0.0f, 0.0f, 0.0f};
                    UNROLL_BY(4) for (int p = begin; p < PART_END(begin, HIGH); p++)
                        UNROLL for (int v = 0; v < 4; v++)
                            parts[v] += down_taps[p] *
                                        element(image, top + r + p, left + v, height, width);
                    UNROLL for (int v = 0; v < 4; v++) made[v] += parts[v];
                }
                sums[team * ROWS + r][lane] = make_float4(made[0], made[1], made[2], made[3]);
            }
        }
        __syncthreads();
        UNROLL_BY(2) for (int r = 0; r < ROWS; r++) {
            if (lane >= MADE || column >= columns || first + r >= rows) break;
            float window[WINDOW], made[4] = {0.0f, 0.0f, 0.0f, 0.0f};
            UNROLL for (int e = 0; e < WINDOW; e += 4) {
                float4 four = sums[team * ROWS + r][lane + e / 4];
                window[e] = four.x;
                window[e + 1] = four.y;
                window[e + 2] = four.z;
                window[e + 3] = four.w;
            }
            UNROLL for (int begin = 0; begin < WIDE; begin += PART_TAPS) {
                float parts[4] = {0.0f, 0.0f, 0.0f, 0.0f};
                UNROLL for (int q = begin; q < PART_END(begin, WIDE); q++)
                    UNROLL for (int v = 0; v < 4; v++)
                        parts[v] += across_taps[q] * window[SKIPPED + q + v];
                UNROLL for (int v = 0; v < 4; v++) made[v] += parts[v];
            }
            put(out + ((int64)n * rows + first + r) * columns, column, columns, made);
        }
        // The next image's sums overwrite what this one's have been made of.
        __syncthreads();
    }
}
