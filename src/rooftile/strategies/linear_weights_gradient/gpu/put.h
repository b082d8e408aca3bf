// The destination of all parameters' gradients.

#pragma once

#define FIRST_WEIGHTS (INPUTS * FEATURES)
#define FIRST_ALL (FEATURES ? FIRST_WEIGHTS + INPUTS : 0)
#define WEIGHTS (OUTPUTS * INPUTS)
#define ALL (FIRST_ALL + WEIGHTS + OUTPUTS)

#define MADE_ARGUMENTS                                                        \
    GLOBAL float *__restrict__ first_dweights, GLOBAL float *__restrict__ first_dbias, \
        GLOBAL float *__restrict__ dweights, GLOBAL float *__restrict__ dbias

// Element k of all gradients in a row: weights, then biases, of each layer.
__device__ __forceinline__ void put(int k, float value, MADE_ARGUMENTS)
{
    if (k < FIRST_ALL)
        *(k < FIRST_WEIGHTS ? first_dweights + k : first_dbias + (k - FIRST_WEIGHTS)) = value;
    else if (k < FIRST_ALL + WEIGHTS)
        dweights[k - FIRST_ALL] = value;
    else
        dbias[k - FIRST_ALL - WEIGHTS] = value;
}
