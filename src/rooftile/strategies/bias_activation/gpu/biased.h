// The arguments of both kernels, and the value of element i with x[i].

#pragma once

#include "common/activations.h"
#include "common/pipelines/pdl.h"

#if BIASED
#define BIAS_ARGUMENT const GLOBAL float *bias,
#define VALUE(i, x) activated(ACTIVATION, (x) + bias[(i) % COLUMNS])
#else
#define BIAS_ARGUMENT
#define VALUE(i, x) activated(ACTIVATION, x)
#endif
