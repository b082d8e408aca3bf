// hierarchical: three kernels.  Every section is scanned alone, then the sections' sums are,
// and then each section adds the sum of those before it.
//
// All multiprocessors work now, and a line may have any length.  Every result is written, read and
// written again: 16 bytes an element of 4 where 8 are compulsory.
//
// x[outer][count][inner], y[outer][count][inner], sums[lines][sections].

#define FAMILY hierarchical
#include "levels.h"
#include "sums.h"
