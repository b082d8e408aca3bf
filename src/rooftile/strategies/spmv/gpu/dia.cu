// dia: ROWS rows a thread; a diagonal's elements are adjacent, and need no index.
//
// x is read in order, too. Values and x of AT_ONCE diagonals are loaded before the first is
// multiplied, so that many loads are in flight; a thread's rows are BLOCK apart, so that one
// address of a diagonal serves all of them. What it costs: every diagonal is stored whole.
//
// values[diagonals][rows], diagonals[diagonals], x[columns], y[rows].
// Grid: x over tiles of BLOCK * ROWS rows.
// Block: x over BLOCK threads.

#include "spmv.h"

#define TILE (BLOCK * ROWS)

// Adds the products of AT_ONCE diagonals; `checked`: only of columns that there are, in rows that
// there are, and of `several` diagonals. A column left of the first one is, as an unsigned number,
// beyond all others.
__device__ __forceinline__ void add_products(carried* totals, const GLOBAL given* held,
                                             const GLOBAL carried* beside, const INDEX* diagonal,
                                             int several, int64 row, int64 rows, int64 columns,
                                             bool checked)
{
    given value[AT_ONCE * ROWS];
    carried factor[AT_ONCE * ROWS];
    UNROLL
    for (int k = 0; k < AT_ONCE; k++) {
        UNROLL
        for (int r = 0; r < ROWS; r++) {
            COUNT here = (COUNT)row + r * BLOCK, across = here + (COUNT)diagonal[k];
            bool inside = k < several && here < (COUNT)rows && across < (COUNT)columns;
            if (!checked || inside) {
                value[k * ROWS + r] = ONCE(held + r * BLOCK);
                factor[k * ROWS + r] = (beside + diagonal[k])[r * BLOCK];
            } else {
                value[k * ROWS + r] = 0;
                factor[k * ROWS + r] = 0;
            }
        }
        held += rows;
    }
    UNROLL
    for (int e = 0; e < AT_ONCE * ROWS; e++)
        if (taken(value[e]) != 0) totals[e % ROWS] += taken(value[e]) * factor[e];
}

__global__ void LAUNCH_BOUNDS(BLOCK)
dia(const GLOBAL given* __restrict__ values, const GLOBAL INDEX* __restrict__ diagonals,
    const GLOBAL carried* __restrict__ x UPDATE_ARGUMENTS, GLOBAL carried* __restrict__ y,
    int64 rows, int64 columns, int count)
{
    int64 low = (int64)blockIdx.x * TILE, row = low + threadIdx.x;
    const GLOBAL given* held = values + row;
    const GLOBAL carried* beside = x + row;
    bool whole = low + TILE <= rows && TILE <= columns;
    carried totals[ROWS];
    UNROLL
    for (int r = 0; r < ROWS; r++) totals[r] = 0;
    for (int first = 0; first < count; first += AT_ONCE) {
        INDEX diagonal[AT_ONCE];
        bool plain = whole && first + AT_ONCE <= count;
        UNROLL
        for (int k = 0; k < AT_ONCE; k++) {
            diagonal[k] = diagonals[first + k < count ? first + k : count - 1];
            plain = plain && (COUNT)low + (COUNT)diagonal[k] <= (COUNT)columns - TILE;
        }
        if (plain)
            add_products(totals, held, beside, diagonal, AT_ONCE, row, rows, columns, false);
        else
            add_products(totals, held, beside, diagonal, count - first, row, rows, columns, true);
        held += AT_ONCE * rows;
    }
    UNROLL
    for (int r = 0; r < ROWS; r++)
        if (row + r * BLOCK < rows) y[row + r * BLOCK] = FINISHED(row + r * BLOCK, totals[r]);
}
