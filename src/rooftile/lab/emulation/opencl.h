// OpenCL's words for a host, in CUDA's: read before a text that `translation` has prepared.

#define __kernel __global__
#define __global
#define __private
#define restrict __restrict__
#define CLK_LOCAL_MEM_FENCE 1
#define CLK_GLOBAL_MEM_FENCE 2
#define barrier(fences) __syncthreads()
#define mem_fence(fences)
#define get_local_id(axis) AXIS(threadIdx, axis)
#define get_group_id(axis) AXIS(blockIdx, axis)
#define get_local_size(axis) AXIS(blockDim, axis)
#define get_num_groups(axis) AXIS(gridDim, axis)
#define get_global_id(axis) (get_group_id(axis) * get_local_size(axis) + get_local_id(axis))
#define get_global_size(axis) (get_num_groups(axis) * get_local_size(axis))
#define AXIS(of, axis) ((int)((axis) == 0 ? of.x : (axis) == 1 ? of.y : of.z))
#define atomic_add(to, value) atomicAdd(to, value)
#define atomic_inc(to) atomicAdd(to, 1)
#define atomic_or(to, value) atomicOr(to, value)
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
