// The type of an element by its BYTES: its bits are moved, and nothing is computed with them.

#if BYTES == 1
typedef unsigned char element;
#elif BYTES == 2
typedef unsigned short element;
#elif BYTES == 4
typedef unsigned element;
#else
typedef uint2 element;
#endif
