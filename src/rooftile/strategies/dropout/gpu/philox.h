// Four random words of a counter's four: the same counter gives the same words.
//
// Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC11 (Philox).

#pragma once

__device__ __forceinline__ void philox(unsigned word[4], unsigned key, unsigned other)
{
    for (int round = 0; round < 10; round++) {
        unsigned long even = (unsigned long)word[0] * 0xD2511F53u;
        unsigned long odd = (unsigned long)word[2] * 0xCD9E8D57u;
        word[0] = (unsigned)(odd >> 32) ^ word[1] ^ key, word[1] = (unsigned)odd;
        word[2] = (unsigned)(even >> 32) ^ word[3] ^ other, word[3] = (unsigned)even;
        key += 0x9E3779B9u, other += 0xBB67AE85u;
    }
}
