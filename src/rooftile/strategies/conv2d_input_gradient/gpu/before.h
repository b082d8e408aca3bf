// The derivative of the activation, BEFORE, whose value the convolution's input is: an argument more
// where there is one.
//
// x[images][CHANNELS][HEIGHT][WIDTH] in float or, with X_NARROW, in 16 bits.

#pragma once

#include "common/activations.h"
#include "common/formats.h"

#if BEFORE
#define X_ARGUMENT const GLOBAL given* x,
#define X_GIVEN x,
#define TIMES_DERIVATIVE(sum, element) ((sum) * derivative(BEFORE, WIDE(x[element])))
#else
#define X_ARGUMENT
#define X_GIVEN
#define TIMES_DERIVATIVE(sum, element) (sum)
#endif
