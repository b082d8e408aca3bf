// corner_turned: tiles of a transposed matrix, loaded along its memory.
//
// In `tiled_any` a thread loads the element that is its own in the tile, whichever way the matrix
// is laid out: of a transposed one, neighbours load elements that are a row apart.
// What it removes: the loads of transposed matrices that fetch a sector for each element.
// How: see corner_turned.h.

#define FAMILY corner_turned
#include "gemm/gpu/corner_turned.h"
