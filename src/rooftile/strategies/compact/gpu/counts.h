// The carried type of `common/states.h` where tiles count elements.

#pragma once

typedef int64 carried;
struct carry { carried high; };
#define IDENTITY ((carried)0)

__device__ __forceinline__ carried combined(carried a, carried b) { return a + b; }

__device__ __forceinline__ struct carry nothing()
{
    struct carry none = {IDENTITY};
    return none;
}

__device__ __forceinline__ struct carry joined(struct carry before, carried value)
{
    before.high += value;
    return before;
}

__device__ __forceinline__ carried value_of(struct carry all) { return all.high; }
