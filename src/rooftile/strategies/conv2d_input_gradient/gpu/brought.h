// The gradients that a pixel meets, one after another, in the cores' type: for pixels of which
// zeros times infinities made NaN. The text defines its rounding, ROUND.

#pragma once

#include "common/gradient_number.h"
#include "conv2d_input_gradient/gpu/before.h"
#include "conv2d_input_gradient/gpu/met.h"

#define IS_NAN(value) (WIDE_RESULT(value) != WIDE_RESULT(value))

// The gradients that a pixel of the padded image meets, one after another.
__device__ float met(const gradient_number* dy, const winner_place* where, const float* weights,
                     int n, int channel, int i, int j)
{
    float sum = 0.0f;
    for (int m = 0; m < MAPS; m++)
        for (int r = FIRST_ROW(i); ROW_MET(r, i); r++)
            for (int c = FIRST_COLUMN(j); COLUMN_MET(c, j); c++) {
                int e = r * COLUMNS + c;
                int64 number = ((int64)n * MAPS + m) * GRADIENTS + e;
                spot won = SPOT(number, e);
                int p = i - won.row, q = j - won.column;
                if (p >= 0 && p < MASK_HEIGHT && q >= 0 && q < MASK_WIDTH)
                    sum += ROUND(PLACED_GRADIENT(number, WIDE_GRADIENT(dy[number]))) *
                           ROUND(weights[((m * CHANNELS + channel) * MASK_HEIGHT + p) * MASK_WIDTH + q]);
            }
    return sum;
}
