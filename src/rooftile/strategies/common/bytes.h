// Bytes of words.

// Four of the eight bytes of two words, each by its number in a digit, the lowest first.
__device__ __forceinline__ unsigned picked(unsigned low, unsigned high, unsigned digits)
{
#ifdef __OPENCL_VERSION__
    ulong both = (ulong)high << 32 | low;
    unsigned made = 0;
    for (int byte = 0; byte < 4; byte++)
        made |= (unsigned)(both >> 8 * (digits >> 4 * byte & 7) & 0xff) << 8 * byte;
    return made;
#else
    return __byte_perm(low, high, digits);
#endif
}
