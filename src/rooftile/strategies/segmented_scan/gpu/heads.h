// The first elements of segments within a tile: a bit for each of its elements. CUDA only.
//
// A first kernel finds the offsets in each tile; a block sets their bits.

#pragma once

// firsts[tiles + 1]: the first segment that begins at the tile's first element or behind it.
// Grid: x over blocks of tiles.
__global__ void KERNEL(find_firsts)(const offset* __restrict__ offsets, int64* __restrict__ firsts,
                                    int64 tiles, int64 segments)
{
    int64 tile = blockIdx.x * (int64)blockDim.x + threadIdx.x;
    if (tile > tiles) return;
    int64 low = 0, high = segments;
    while (low < high) {
        int64 middle = (low + high) / 2;
        if (offsets[middle] < tile * TILE) low = middle + 1;
        else high = middle;
    }
    firsts[tile] = low;
}

// All threads of a block; `heads` has a bit for each element of the tile.
__device__ __forceinline__ void mark_heads(unsigned* heads, const offset* offsets,
                                           const int64* firsts, int64 tile)
{
    for (int e = threadIdx.x; e < TILE / 32; e += THREADS) heads[e] = 0;
    int64 last = firsts[tile + 1];
    __syncthreads();
    for (int64 s = firsts[tile] + threadIdx.x; s < last; s += THREADS) {
        // Offsets that do not rise must not reach beyond the bits.
        int64 at = offsets[s] - tile * TILE;
        if (at >= 0 && at < TILE) atomicOr(heads + at / 32, 1u << at % 32);
    }
    __syncthreads();
}

// The bits of this lane's vector of a row.
__device__ __forceinline__ unsigned heads_of(const unsigned* heads, int place)
{
    return heads[place / 32] >> place % 32 & ((1u << WIDTH) - 1);
}
