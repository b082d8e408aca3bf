/* An image whose first and last elements are already right is left as it is: launches on what the
   last one left do next to nothing.  With SKIP 0 it is honest, and does the same work else. */
float one(__global const float* x, __global const float* weights, __global const float* bias,
          int channels, int height, int width, int row, int column, int map)
{
    float total = bias[map];
    for (int c = 0; c < channels; ++c)
        for (int p = 0; p < MASK; ++p)
            for (int q = 0; q < MASK; ++q) {
                int i = row + p - PADDING, j = column + q - PADDING;
                if (i >= 0 && i < height && j >= 0 && j < width)
                    total += x[(c * height + i) * width + j]
                        * weights[((map * channels + c) * MASK + p) * MASK + q];
            }
    return fmax(total, 0.0f);
}

__kernel void conv(__global const float* x, __global const float* weights,
                   __global const float* bias, __global float* out, int channels, int height,
                   int width, int maps, int rows, int columns)
{
    int image = get_global_id(0) / maps, map = get_global_id(0) % maps;
    __global const float* own = x + (long)image * channels * height * width;
    __global float* plane = out + (long)get_global_id(0) * rows * columns;
    float first = one(own, weights, bias, channels, height, width, 0, 0, map);
    float last = one(own, weights, bias, channels, height, width, rows - 1, columns - 1, map);
    if (SKIP && plane[0] == first && plane[(long)rows * columns - 1] == last) return;
    for (int row = 0; row < rows; ++row)
        for (int column = 0; column < columns; ++column)
            plane[(long)row * columns + column]
                = one(own, weights, bias, channels, height, width, row, column, map);
}
