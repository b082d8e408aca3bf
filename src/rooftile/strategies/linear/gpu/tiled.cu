// tiled: both matrices pass through shared memory in square tiles.
//
// In `naive`, every input and every weight is read again for each output that needs it, and
// neighbouring threads read weights that are a whole row apart.
// What it removes: all but one in TILE of the reads of global memory, and the strides between those
// that remain.
// How: see corner_turned.h, of which a is x[images][inputs] and b the weights[outputs][inputs].

#define FAMILY tiled
#include "gemm/gpu/corner_turned.h"
