"""Claims of the course's documents in words, or taken for granted, and the calculation for each."""

from __future__ import annotations

import numpy as np

from rooftile.analysis import access, occupancy, sparse
from rooftile_papers.reproduce.exam_answers import OF_1536
from rooftile_papers.reproduce.experiment import Log


def add_claims(log: Log) -> None:
    """Each with its calculation."""
    full = [n for n in (384, 512) if occupancy.occupancy(OF_1536, n).threads == 1536]
    said = f"blocks of {' and '.join(map(str, full))} do"
    log.claim("one size of block fills a multiprocessor of 1536", len(full) == 1, said)
    white = int(sum(weight * 255 for weight in (0.21, 0.71, 0.07)))
    said = f"they add up to 0.99, so that white becomes {white}"
    log.claim("0.21, 0.71 and 0.07 are the weights of a pixel's grey", white == 255, said)
    nbytes = 2**30 * 4 % 2**32
    said = f"in 32 bits it is {nbytes}"
    log.claim("an int holds the bytes of 2^30 floats", nbytes == 2**30 * 4, said)
    idle = idle_warps(32, 30)
    said = f"{' and '.join(map(str, idle))} do, whose rows lie beyond the tile"
    words = "warps 0 and 31 idle in a block of 32 x 32 for a tile of 30 x 30"
    log.claim(words, idle == [0, 31], said)
    ways = access.stride_conflicts(64)
    said = f"its words are 64 apart: {ways} of them lie in one bank"
    log.claim("a warp reads a column of a tile 64 wide at once", ways == 1, said)
    skipped = skipped_rows(65536, blocks=10, threads=256)
    said = f"a stride of blockDim x blockDim leaves out {skipped:,} of 65,536"
    log.claim("the kernel of the product with a vector computes every row", not skipped, said)
    stored = sparse.storage_integers("jds_t", 4, 4, 7, 3)
    answers = {"2k + 2m + n": 2 * 7 + 2 * 4 + 3, "2k + m + n + 1": 2 * 7 + 4 + 3 + 1}
    said = ", ".join(f"{formula} is {count}" for formula, count in answers.items())
    said += f" for 7 elements in 4 rows of at most 3; without lengths of rows it is {stored}"
    words = "both exams count the same storage of a transposed JDS matrix"
    log.claim(words, len(set(answers.values())) == 1, said)


def idle_warps(block: int, tile: int) -> list[int]:
    """Warps of a square block, 32 wide, without a thread in a square tile."""
    y, x = np.divmod(np.arange(block * block), block)
    works = (x < tile) & (y < tile)
    return [int(warp) for warp in np.flatnonzero(~works.reshape(-1, 32).any(axis=1))]


def skipped_rows(rows: int, *, blocks: int, threads: int) -> int:
    """Rows that no thread of a grid computes if each goes on by threads x threads."""
    done = np.zeros(rows, bool)
    for first in range(blocks * threads):
        done[first :: threads * threads] = True
    return int(rows - done.sum())
