// Gradients before a layer's activation: where dy stands behind one, ACTIVATION, its value is an
// argument more.
//
// y[images][MAPS][ROWS][COLUMNS].

#pragma once

#include "common/derivative.h"
#include "common/places.h"

#if ACTIVATION
#define Y_ARGUMENT const GLOBAL float* y,
#define Y_GIVEN y,
#define VALUE(number) y[number]
#else
#define Y_ARGUMENT
#define Y_GIVEN
#define VALUE(number) 0.0f
#endif
#define BEFORE_ACTIVATION(gradient, value) ((gradient) * derivative(ACTIVATION, value))
#define GRADIENT(number) BEFORE_ACTIVATION(PLACED_GRADIENT(number, dy[number]), VALUE(number))
