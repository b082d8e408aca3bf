// Activations and their derivatives by codes:
//   0 none, 1 relu, 2 sigmoid, 3 tanh, 4 softplus
// Made by common/activation_texts.py from the table in ops/activation.py.

#pragma once

#ifdef __OPENCL_VERSION__
#define log1pf log1p
#endif

// Whether an activation never falls, so that a maximum may be taken before it.
#define RISES(code) (1)

// Whether the derivative is a function of the activation's input, not of its value.
#define NEEDS_INPUT(code) (0)

__device__ __forceinline__ float activated(int code, float z)
{
    if (code == 1) return relu(z);
    if (code == 2) return sigmoid(z);
    if (code == 3) return tanhf(z);
    if (code == 4) return maximum(z, 0.0f) + log1pf(expf(-fabsf(z)));
    return z;
}

// t is the activation's value, or its input where NEEDS_INPUT.
__device__ __forceinline__ float derivative(int code, float t)
{
    if (code == 1) return t > 0.0f ? 1.0f : 0.0f;
    if (code == 2) return t * (1.0f - t);
    if (code == 3) return 1.0f - t * t;
    if (code == 4) return 1.0f - expf(-t);
    return 1.0f;
}
