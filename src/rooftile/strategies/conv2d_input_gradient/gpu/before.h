// The derivative of the activation, BEFORE, whose value the convolution's input is: an argument more
// where there is one.
//
// x[images][CHANNELS][HEIGHT][WIDTH].

#pragma once

#include "common/derivative.h"

#if BEFORE
#define X_ARGUMENT const GLOBAL float* x,
#define X_GIVEN x,
#define TIMES_DERIVATIVE(sum, element) ((sum) * derivative(BEFORE, x[element]))
#else
#define X_ARGUMENT
#define X_GIVEN
#define TIMES_DERIVATIVE(sum, element) (sum)
#endif
