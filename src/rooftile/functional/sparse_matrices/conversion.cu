// A sparse matrix from one format to another: from each to CSR, and from CSR to each.
//
// To CSR a thread reads a row (of jagged diagonals the row at its place among the sorted ones), twice:
// first it counts entries, and once the host has made offsets of the counts, with FILLING it moves
// them.  From CSR a thread moves an entry, whose row `owners` has found; of BSR a thread takes a row of
// blocks, again twice.  What depends on rows or diagonals alone, and not on entries, the host decides.
//
// CSR: values[entries], columns[entries], offsets[rows + 1]; owners[entries] are rows of entries.
// Other formats' arrays are called and lie as `rooftile.ops.sparse.rows` says.
// VALUE is only moved, and looked at for zeros; INDEX is the type of indices and offsets; BLOCK is the
// rows of a block.
// Grid: x over blocks of rows, entries or rows of blocks.  Block: x over THREADS threads.

#if DOUBLES && defined(__OPENCL_VERSION__)
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#define FAMILY conversion
#include "spmv/gpu/row_starts.h"

// Padding is 0; of float16 VALUE has the bits.
#if HALVES
#define IS_ENTRY(value) (((value) & 0x7fff) != 0)
#else
#define IS_ENTRY(value) ((value) != 0)
#endif

// CSR's arrays: lengths are written, or with `filling` offsets are read and the others written.
#define ROWS_ARGUMENTS                                                                     \
    GLOBAL INDEX *lengths, const GLOBAL INDEX *offsets, GLOBAL VALUE *values, GLOBAL INDEX *columns, \
        int64 rows, int filling
#define OWN_THREAD ((int64)blockIdx.x * THREADS + threadIdx.x)

// Takes an entry if it is one.
#define TAKE(value, column)                                                                \
    if (IS_ENTRY(value)) {                                                                 \
        if (filling) {                                                                     \
            values[e] = value;                                                             \
            columns[e] = (INDEX)(column);                                                  \
        }                                                                                  \
        e++;                                                                               \
    }

__global__ void from_ell(const GLOBAL VALUE* stored, const GLOBAL INDEX* column_index, int width,
                         ROWS_ARGUMENTS)
{
    int64 row = OWN_THREAD;
    if (row >= rows) return;
    INDEX e = filling ? offsets[row] : 0;
    for (int k = 0; k < width; k++) {
        VALUE value = stored[k * rows + row];
        TAKE(value, column_index[k * rows + row])
    }
    if (!filling) lengths[row] = e;
}

// tail_offsets[rows + 1]: where the tail's rows begin.
__global__ void from_hybrid(const GLOBAL VALUE* stored, const GLOBAL INDEX* column_index, int width,
                            const GLOBAL VALUE* tail_values, const GLOBAL INDEX* tail_columns,
                            const GLOBAL INDEX* tail_offsets, ROWS_ARGUMENTS)
{
    int64 row = OWN_THREAD;
    if (row >= rows) return;
    INDEX e = filling ? offsets[row] : 0;
    for (int k = 0; k < width; k++) {
        VALUE value = stored[k * rows + row];
        TAKE(value, column_index[k * rows + row])
    }
    for (INDEX t = tail_offsets[row]; t < tail_offsets[row + 1]; t++) {
        VALUE value = tail_values[t];
        TAKE(value, tail_columns[t])
    }
    if (!filling) lengths[row] = e;
}

__global__ void from_dia(const GLOBAL VALUE* stored, const GLOBAL INDEX* diagonals, int count,
                         ROWS_ARGUMENTS)
{
    int64 row = OWN_THREAD;
    if (row >= rows) return;
    INDEX e = filling ? offsets[row] : 0;
    for (int d = 0; d < count; d++) {
        VALUE value = stored[d * rows + row];
        TAKE(value, row + diagonals[d])
    }
    if (!filling) lengths[row] = e;
}

__global__ void from_bsr(const GLOBAL VALUE* stored, const GLOBAL INDEX* block_columns,
                         const GLOBAL INDEX* block_offsets, ROWS_ARGUMENTS)
{
    int64 row = OWN_THREAD;
    if (row >= rows) return;
    int64 down = row / BLOCK;
    INDEX e = filling ? offsets[row] : 0;
    for (INDEX b = block_offsets[down]; b < block_offsets[down + 1]; b++) {
        const GLOBAL VALUE* line = stored + ((int64)b * BLOCK + row % BLOCK) * BLOCK;
        for (int j = 0; j < BLOCK; j++) {
            VALUE value = line[j];
            TAKE(value, (int64)block_columns[b] * BLOCK + j)
        }
    }
    if (!filling) lengths[row] = e;
}

__global__ void from_jds(const GLOBAL VALUE* stored, const GLOBAL INDEX* column_index,
                         const GLOBAL INDEX* row_offsets, const GLOBAL INDEX* permutation,
                         ROWS_ARGUMENTS)
{
    int64 place = OWN_THREAD;
    if (place >= rows) return;
    int64 row = permutation[place];
    INDEX e = filling ? offsets[row] : 0;
    for (INDEX s = row_offsets[place]; s < row_offsets[place + 1]; s++) {
        VALUE value = stored[s];
        TAKE(value, column_index[s])
    }
    if (!filling) lengths[row] = e;
}

__global__ void from_jds_t(const GLOBAL VALUE* stored, const GLOBAL INDEX* column_index,
                           const GLOBAL INDEX* section_offsets, const GLOBAL INDEX* permutation,
                           int sections, ROWS_ARGUMENTS)
{
    int64 place = OWN_THREAD;
    if (place >= rows) return;
    int64 row = permutation[place];
    INDEX e = filling ? offsets[row] : 0;
    for (int k = 0; k < sections; k++) {
        // Sections shrink: behind the first that is too short the row has nothing.
        if (section_offsets[k + 1] - section_offsets[k] <= place) break;
        VALUE value = stored[section_offsets[k] + place];
        TAKE(value, column_index[section_offsets[k] + place])
    }
    if (!filling) lengths[row] = e;
}

// The row of each entry: the last that begins at it or before.
__global__ void owners(const GLOBAL INDEX* offsets, GLOBAL INDEX* owner, int64 rows, int64 entries)
{
    int64 e = OWN_THREAD;
    if (e >= entries) return;
    int64 low = 0, high = rows;
    while (high - low > 1) {
        int64 middle = (low + high) / 2;
        if (offsets[middle] <= e)
            low = middle;
        else
            high = middle;
    }
    owner[e] = (INDEX)low;
}

#define ENTRIES_ARGUMENTS                                                                  \
    const GLOBAL VALUE *values, const GLOBAL INDEX *columns, const GLOBAL INDEX *offsets,  \
        const GLOBAL INDEX *owner, int64 rows, int64 entries

// ELL, and with tail_starts[rows + 1] the hybrid format, whose rows leave what is beyond `width`.
__global__ void to_padded(GLOBAL VALUE* stored, GLOBAL INDEX* column_index, GLOBAL VALUE* tail_values,
                          GLOBAL INDEX* tail_rows, GLOBAL INDEX* tail_columns,
                          const GLOBAL INDEX* tail_starts, int width, ENTRIES_ARGUMENTS)
{
    int64 e = OWN_THREAD;
    if (e >= entries) return;
    int64 row = owner[e], rank = e - offsets[row];
    if (rank < width) {
        stored[rank * rows + row] = values[e];
        column_index[rank * rows + row] = columns[e];
    } else {
        int64 at = tail_starts[row] + rank - width;
        tail_values[at] = values[e];
        tail_rows[at] = (INDEX)row;
        tail_columns[at] = columns[e];
    }
}

// starts[rows]: where a row's entries begin, and `sections` apart they lie, of JDS; of transposed JDS
// starts are the rows' places, and sections[longest] where sections begin.
__global__ void to_jds(GLOBAL VALUE* stored, GLOBAL INDEX* column_index, const GLOBAL INDEX* starts,
                       const GLOBAL INDEX* sections, int turned, ENTRIES_ARGUMENTS)
{
    int64 e = OWN_THREAD;
    if (e >= entries) return;
    int64 row = owner[e], rank = e - offsets[row];
    int64 at = starts[row] + (turned ? sections[rank] : rank);
    stored[at] = values[e];
    column_index[at] = columns[e];
}

// Which diagonals have an entry: used[rows + columns], from the lowest on.
__global__ void used_diagonals(GLOBAL int* used, ENTRIES_ARGUMENTS)
{
    int64 e = OWN_THREAD;
    if (e < entries) used[columns[e] - owner[e] + rows - 1] = 1;
}

// numbers[rows + columns]: which of those that are stored each diagonal is.
__global__ void to_dia(GLOBAL VALUE* stored, const GLOBAL INDEX* numbers, ENTRIES_ARGUMENTS)
{
    int64 e = OWN_THREAD;
    if (e >= entries) return;
    int64 row = owner[e];
    stored[numbers[columns[e] - row + rows - 1] * rows + row] = values[e];
}

// The rows of one row of blocks are merged: the least column of those that are left says which block
// comes next.  counts[high], or with `filling` starts[high + 1] are read and blocks written.
__global__ void to_bsr(GLOBAL INDEX* counts, const GLOBAL INDEX* starts, GLOBAL VALUE* stored,
                       GLOBAL INDEX* block_columns, int64 high, int filling,
                       const GLOBAL VALUE* values, const GLOBAL INDEX* columns,
                       const GLOBAL INDEX* offsets, int64 rows)
{
    int64 down = OWN_THREAD;
    if (down >= high) return;
    INDEX places[BLOCK];
    for (int i = 0; i < BLOCK; i++) {
        int64 row = down * BLOCK + i;
        places[i] = offsets[row < rows ? row : rows];
    }
    INDEX number = filling ? starts[down] : 0;
    for (bool more = true; more;) {
        int64 across = -1;
        for (int i = 0; i < BLOCK; i++) {
            int64 row = down * BLOCK + i;
            if (row >= rows || places[i] >= offsets[row + 1]) continue;
            int64 own = columns[places[i]] / BLOCK;
            if (across < 0 || own < across) across = own;
        }
        more = across >= 0;
        for (int i = 0; i < BLOCK && more; i++) {
            int64 row = down * BLOCK + i;
            if (row >= rows) break;
            for (; places[i] < offsets[row + 1] && columns[places[i]] / BLOCK == across; places[i]++)
                if (filling)
                    stored[((int64)number * BLOCK + i) * BLOCK + columns[places[i]] % BLOCK] =
                        values[places[i]];
        }
        if (more && filling) block_columns[number] = (INDEX)across;
        number += more;
    }
    if (!filling) counts[down] = number;
}

__global__ void counted_up(GLOBAL int* places, int64 entries)
{
    int64 e = OWN_THREAD;
    if (e < entries) places[e] = (int)e;
}

// Entries in another order: the one that was at places[e] comes to e.
__global__ void reordered(const GLOBAL int* places, const GLOBAL VALUE* values,
                          const GLOBAL INDEX* owner, GLOBAL VALUE* to_values, GLOBAL INDEX* to_index,
                          int64 entries)
{
    int64 e = OWN_THREAD;
    if (e >= entries) return;
    to_values[e] = values[places[e]];
    to_index[e] = owner[places[e]];
}

// Half words, of which every element has a whole number.
__global__ void cleared(GLOBAL unsigned short* words, int64 count)
{
    int64 e = OWN_THREAD;
    if (e < count) words[e] = 0;
}
