// Flags of a byte each, as bits.

#pragma once

// A bit for each of four bytes that is not zero, the first byte's lowest.
__device__ __forceinline__ unsigned bits_of(unsigned bytes)
{
    unsigned highest = ((bytes & 0x7f7f7f7fu) + 0x7f7f7f7fu | bytes) & 0x80808080u;
    // The product brings bits 0, 8, 16 and 24 to 24, 25, 26 and 27.
    return (highest >> 7) * 0x01020408u >> 24 & 15;
}
