// PTX's `wmma`: a warp adds a product of matrices in shared memory to a square of 16 x 16, of which
// each lane holds eight numbers; which ones, nobody tells.  A line of a matrix begins at a multiple
// of 32 bytes.  CUDA alone has these instructions, from compute capability 8.0 on.

#pragma once

#include "common/cores.h"

#if CORES == TF32
#include "common/tf32.h"
#define SQUARE_DEPTH 8
typedef float operand;
__device__ __forceinline__ operand as_operand(float value) { return tf32(value); }
#else
#define SQUARE_DEPTH 16
typedef unsigned short operand;
__device__ __forceinline__ operand as_operand(float value)
{
    operand bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}
#endif

__device__ __forceinline__ unsigned in_shared(const void* at)
{
    return (unsigned)__cvta_generic_to_shared(at);
}

// sums += left right: 16 rows and 16 columns, SQUARE_DEPTH deep, whose lines lie so many operands
// apart.
__device__ __forceinline__ void add_square(float sums[8], const operand* left, int left_line,
                                           const operand* right, int right_line)
{
#if CORES == TF32
    unsigned a[4], b[4];
    asm volatile("wmma.load.a.sync.aligned.row.m16n16k8.shared.tf32 {%0,%1,%2,%3}, [%4], %5;"
                 : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
                 : "r"(in_shared(left)), "r"(left_line)
                 : "memory");
    asm volatile("wmma.load.b.sync.aligned.row.m16n16k8.shared.tf32 {%0,%1,%2,%3}, [%4], %5;"
                 : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3])
                 : "r"(in_shared(right)), "r"(right_line)
                 : "memory");
    asm volatile("wmma.mma.sync.aligned.row.row.m16n16k8.f32.tf32.tf32.f32 "
                 "{%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9,%10,%11}, {%12,%13,%14,%15}, "
                 "{%0,%1,%2,%3,%4,%5,%6,%7};"
                 : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3]), "+f"(sums[4]),
                   "+f"(sums[5]), "+f"(sums[6]), "+f"(sums[7])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]),
                   "r"(b[3]));
#else
    unsigned a[8], b[8];
    asm volatile("wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 "
                 "{%0,%1,%2,%3,%4,%5,%6,%7}, [%8], %9;"
                 : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3]), "=r"(a[4]), "=r"(a[5]),
                   "=r"(a[6]), "=r"(a[7])
                 : "r"(in_shared(left)), "r"(left_line)
                 : "memory");
    asm volatile("wmma.load.b.sync.aligned.row.m16n16k16.shared.f16 "
                 "{%0,%1,%2,%3,%4,%5,%6,%7}, [%8], %9;"
                 : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3]), "=r"(b[4]), "=r"(b[5]),
                   "=r"(b[6]), "=r"(b[7])
                 : "r"(in_shared(right)), "r"(right_line)
                 : "memory");
    asm volatile("wmma.mma.sync.aligned.row.row.m16n16k16.f32.f32 "
                 "{%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9,%10,%11,%12,%13,%14,%15}, "
                 "{%16,%17,%18,%19,%20,%21,%22,%23}, {%0,%1,%2,%3,%4,%5,%6,%7};"
                 : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3]), "+f"(sums[4]),
                   "+f"(sums[5]), "+f"(sums[6]), "+f"(sums[7])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(a[4]), "r"(a[5]), "r"(a[6]),
                   "r"(a[7]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]), "r"(b[4]), "r"(b[5]),
                   "r"(b[6]), "r"(b[7]));
#endif
}

__device__ __forceinline__ void store_square(float* to, const float sums[8], int line)
{
#if CORES == TF32
    asm volatile("wmma.store.d.sync.aligned.row.m16n16k8.shared.f32 "
#else
    asm volatile("wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 "
#endif
                 "[%8], {%0,%1,%2,%3,%4,%5,%6,%7}, %9;"
                 :
                 : "f"(sums[0]), "f"(sums[1]), "f"(sums[2]), "f"(sums[3]), "f"(sums[4]),
                   "f"(sums[5]), "f"(sums[6]), "f"(sums[7]), "r"(in_shared(to)), "r"(line)
                 : "memory");
}
