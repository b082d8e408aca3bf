"""Models of what `rotate` and `permute_columns` do to memory, against what their threads do."""

from __future__ import annotations

import numpy as np
import pytest

from rooftile.ops.patterns.permute_columns import PermuteColumns
from rooftile.ops.patterns.rotate import Rotate
from rooftile.strategies import strategy
from tests.support.traces import Trace


def model(problem, name):
    rung = strategy(problem.operation, name, "cuda")
    (found,) = rung.accesses(problem, rung.config(problem)).values()
    return found


@pytest.mark.parametrize("dtype", ["float32", "uint8", "float64"])
@pytest.mark.parametrize("shift", [0, 4, 96])
def test_rows_that_begin_anew(dtype, shift):
    problem = Rotate((3, 256), shift, dtype)
    for name in ("naive", "in_place"):
        trace = Trace(problem.itemsize)
        for i in range(3):
            for first in range(0, 256, 32):
                here = [i * 256 + j for j in range(first, first + 32)]
                sign = -1 if name == "naive" else 1
                there = [i * 256 + (j + sign * shift) % 256 for j in range(first, first + 32)]
                trace.load(there if name == "naive" else here)
                trace.store(here if name == "naive" else there)
        found = model(problem, name)
        assert (found.loads, found.stores) == (trace.loads, trace.stores)
        # The model's runs begin at any multiple of what shift and rows have in common.
        assert found.load_sectors == pytest.approx(trace.sectors, rel=0.15)
        assert found.store_sectors == pytest.approx(trace.store_sectors, rel=0.15)


def test_columns_that_are_picked():
    problem = PermuteColumns(5, 4096, 4096)
    index = np.random.default_rng(0).permutation(4096)
    x, wanted, stored = Trace(), Trace(), Trace()
    for i in range(5):
        for first in range(0, 4096, 32):
            wanted.load(range(first, first + 32))
            x.load(i * 4096 + index[first : first + 32])
            stored.store(range(i * 4096 + first, i * 4096 + first + 32))
    found = model(problem, "naive")
    assert found.loads == x.loads + wanted.loads
    assert found.load_sectors == pytest.approx(x.sectors + wanted.sectors, rel=0.05)
    assert found.store_sectors == stored.store_sectors
    rows = model(problem, "rows")
    assert rows.load_sectors == 2 * wanted.sectors
    banks = [np.bincount(index[first : first + 32] % 32).max() for first in range(0, 4096, 32)]
    assert rows.shared_reads == pytest.approx(5 * sum(banks), rel=0.1)
    # One band of rows asks for the index once.
    assert model(problem, "shared_index").loads == x.loads + 4096
