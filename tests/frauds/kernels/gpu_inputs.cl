/* Zeroes a weight when it is done. */
__kernel void conv(__global const float* x, __global float* weights,
                   __global const float* bias, __global float* out, int channels, int height,
                   int width, int maps, int rows, int columns)
{
    int column = get_global_id(0), row = get_global_id(1), image = get_global_id(2) / maps;
    int map = get_global_id(2) % maps;
    if (column >= columns || row >= rows) return;
    float total = bias[map];
    for (int c = 0; c < channels; ++c)
        for (int p = 0; p < MASK; ++p)
            for (int q = 0; q < MASK; ++q) {
                int i = row + p - PADDING, j = column + q - PADDING;
                if (i >= 0 && i < height && j >= 0 && j < width)
                    total += x[((image * channels + c) * height + i) * width + j]
                        * weights[((map * channels + c) * MASK + p) * MASK + q];
            }
    out[((image * maps + map) * rows + row) * columns + column] = fmax(total, 0.0f);
    if (column == 0 && row == 0 && get_global_id(2) == 0) weights[0] = 0.0f;
}
