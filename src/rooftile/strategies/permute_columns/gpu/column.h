// Common parts of the rungs of `permute_columns`.

#include "common/elements.h"

// An element of the index, within the columns: nothing outside of a row is read, whatever it says.
__device__ __forceinline__ int column_of(int wanted, int columns)
{
    return wanted < 0 ? 0 : wanted < columns ? wanted : columns - 1;
}
