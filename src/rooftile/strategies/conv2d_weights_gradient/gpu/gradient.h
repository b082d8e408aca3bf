// Gradients before a layer's activation: where dy stands behind one, ACTIVATION, its value is an
// argument more.
//
// y[images][MAPS][ROWS][COLUMNS], in float or, with Y_NARROW, in the cores' own type.

#pragma once

#include "common/activations.h"
#include "common/places.h"

#if Y_NARROW
#include "common/narrow.h"
typedef narrow value_number;
#define WIDE_VALUE(number) widened(number)
#else
typedef float value_number;
#define WIDE_VALUE(number) (number)
#endif

#if ACTIVATION
#define Y_ARGUMENT const GLOBAL value_number* y,
#define Y_GIVEN y,
#define GIVEN_VALUE(number) y[number]
#else
#define Y_ARGUMENT
#define Y_GIVEN
#define GIVEN_VALUE(number) 0
#endif
#define BEFORE_ACTIVATION(gradient, value) ((gradient) * derivative(ACTIVATION, value))
#define GRADIENT(number) \
    BEFORE_ACTIVATION(PLACED_GRADIENT(number, dy[number]), WIDE_VALUE(GIVEN_VALUE(number)))
