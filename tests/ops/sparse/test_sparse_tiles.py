"""Where tiles of a matrix's entries and ends of rows begin."""

from __future__ import annotations

import numpy as np
import pytest

from rooftile.errors import InputError
from rooftile.ops.sparse.rows import offsets_of
from rooftile.ops.sparse.spmv import Spmv
from rooftile.ops.sparse.tiles import TILE, tile_rows, tiles_of


@pytest.mark.parametrize(
    "lengths", [[5] * 300, [0] * 2000, [0, 9000, 0, 3], [TILE - 1], [TILE], [1]]
)
def test_tiles_as_items_are_walked_through(lengths):
    ended, before = 0, []
    for item in [item for length in lengths for item in [0] * length + [1]]:
        before.append(ended)
        ended += item
    expected = [*before[::TILE], len(lengths)]
    found = tile_rows(offsets_of(np.array(lengths), np.int32))
    assert found.tolist() == expected
    assert len(found) == tiles_of(len(lengths), sum(lengths)) + 1
    assert found.dtype == np.int32


def test_only_csr_comes_with_tiles():
    with pytest.raises(InputError, match="tiles are CSR's"):
        Spmv(10, 10, 20, "coo", tiled=True)
