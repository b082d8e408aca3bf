// Accesses to vectors that nobody needs again soon, which leave the last-level cache before others.
//
// STREAMED: 0: as any other; 1: what is stored; 2: what is loaded, too.

#if STREAMED > 0 && defined(__CUDACC_RTC__)
#define PUT_VECTOR(to, vector) __stcs(to, vector)
#else
#define PUT_VECTOR(to, vector) (*(to) = (vector))
#endif

#if STREAMED > 1 && defined(__CUDACC_RTC__)
#define VECTOR_AT(from) __ldcs(from)
#else
#define VECTOR_AT(from) (*(from))
#endif
