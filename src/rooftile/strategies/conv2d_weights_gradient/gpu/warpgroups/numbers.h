// Two adjacent numbers as the cores multiply them: of 16 bits.
//
// Where SCALED, they are float16, and powers of two scale their values: see scales.h.

#pragma once

#include "common/formats.h"
#include "common/gradient_number.h"
#include "common/narrow.h"

// Two gradients.
#if DY_NARROW
#define BOTH_GRADIENTS(one, next, scale) ((unsigned)(one) | (unsigned)(next) << 16)
#elif SCALED
#define BOTH_GRADIENTS(one, next, scale) pack((scale) * (one), (scale) * (next))
#else
#define BOTH_GRADIENTS(one, next, scale) pack(one, next)
#endif
// Two channels' numbers of a pixel.
#if X_NARROW
#define BOTH_PIXELS(one, other, v, scale)                                                       \
    ((v) % 2 ? (one)[(v) / 2] >> 16 | ((other)[(v) / 2] & 0xffff0000)                           \
             : ((one)[(v) / 2] & 0xffff) | (other)[(v) / 2] << 16)
#elif SCALED
#define BOTH_PIXELS(one, other, v, scale)                                                       \
    pack((scale) * __uint_as_float((one)[v]), (scale) * __uint_as_float((other)[v]))
#else
#define BOTH_PIXELS(one, other, v, scale)                                                       \
    pack(__uint_as_float((one)[v]), __uint_as_float((other)[v]))
#endif
