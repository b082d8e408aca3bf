// Pixels of the old image as they vary.

#pragma once

#if FLOATS
typedef float given_number;
#else
typedef unsigned char given_number;
#endif

// A pixel of the mirrored and moved image, as a float.
__device__ __forceinline__ float moved(const GLOBAL given_number* plane, int variation, int i, int j)
{
    i += (variation & 255) - SHIFT, j += (variation >> 8 & 255) - SHIFT;
    if (i < 0 || i >= OLD_HEIGHT || j < 0 || j >= OLD_WIDTH) return 0.0f;
    if (variation >> 16) j = OLD_WIDTH - 1 - j;
    return (float)plane[i * OLD_WIDTH + j];
}
