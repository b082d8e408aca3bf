// Activations and their derivatives by codes:
//   0 none, 1 relu, 2 sigmoid, 3 tanh, 4 softplus, 5 gelu
// Made by common/activation_texts.py from the table in ops/activation.py.

#pragma once

#ifdef __OPENCL_VERSION__
#define log1pf log1p
#define erfcf erfc
#endif

// A text whose codes are no constants defines USED: a bit for each of its codes.
#ifdef USED
#define IS(code, number) ((USED >> (number) & 1) && (code) == (number))
#else
#define IS(code, number) ((code) == (number))
#endif

// True if an activation never falls, so that a maximum may be taken before it.
#define RISES(code) ((code) != 5)

// True if the derivative is a function of the activation's input, not of its value.
#define NEEDS_INPUT(code) ((code) == 5)

__device__ __forceinline__ float activated(int code, float z)
{
    if (IS(code, 1)) return relu(z);
    if (IS(code, 2)) return sigmoid(z);
    if (IS(code, 3)) return tanhf(z);
    if (IS(code, 4)) return maximum(z, 0.0f) + log1pf(expf(-fabsf(z)));
    if (IS(code, 5)) return 0.5f * z * erfcf(-0.70710678f * z);
    return z;
}

// t is the activation's value, or its input where NEEDS_INPUT.
__device__ __forceinline__ float derivative(int code, float t)
{
    if (IS(code, 1)) return t > 0.0f ? 1.0f : 0.0f;
    if (IS(code, 2)) return t * (1.0f - t);
    if (IS(code, 3)) return 1.0f - t * t;
    if (IS(code, 4)) return 1.0f - expf(-t);
    if (IS(code, 5)) return 0.5f * erfcf(-0.70710678f * t) + 0.39894228f * t * expf(-0.5f * t * t);
    return 1.0f;
}
