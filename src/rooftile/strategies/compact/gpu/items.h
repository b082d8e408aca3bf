// Common parts of compact's texts: elements of SIZE bytes, which are only moved, and their count.

#pragma once

#if SIZE == 1
typedef unsigned char item;
#elif SIZE == 2
typedef unsigned short item;
#elif SIZE == 4
typedef unsigned item;
#else
typedef int64 item;
#endif
