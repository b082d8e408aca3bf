// Common parts of the rungs of `grayscale`: the weighted sum of a pixel.

// Weights are in units of 2^-16; halves are rounded up.
__device__ __forceinline__ unsigned weighed(unsigned red, unsigned green, unsigned blue, int of_red,
                                            int of_green, int of_blue)
{
    return (red * of_red + green * of_green + blue * of_blue + 0x8000) >> 16;
}
