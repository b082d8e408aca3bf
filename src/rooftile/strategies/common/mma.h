// A warp's product on tensor cores, of compute capability 8.0 and later.

#pragma once

#include "common/cores.h"

// sum += a b: 16 rows of a, 8 columns of b, 32 bytes deep, shared out to the lanes as PTX says.
__device__ __forceinline__ void multiply_add(float sum[4], const unsigned a[4], const unsigned b[2])
{
#if CORES == TF32
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
#elif CORES == BFLOAT16
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
#else
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
#endif
        "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
