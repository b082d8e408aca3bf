"""Sorting entries by buckets of keys: the same as at once, where it pays and where it does not."""

from __future__ import annotations

import numpy as np
import pytest

from rooftile.ops.sparse.rows import Rows
from rooftile.strategies.common import sparse_buckets as buckets
from rooftile.strategies.common.sparse_sorting import grouped_at_once, turned


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("count", [1, 3, 300, 5000, 2**16 + 1])
def test_buckets_give_what_one_pass_gives(count, dtype):
    generator = np.random.default_rng(count)
    for index in ("int32", "int64"):
        keys = generator.integers(0, count, 3000, index)
        values = generator.standard_normal(3000).astype(dtype)
        others = np.arange(3000, dtype=index)
        given = keys, count, values, others
        for mine, theirs in zip(
            buckets.grouped_by_buckets(*given), grouped_at_once(*given), strict=True
        ):
            assert mine.dtype == theirs.dtype
            assert np.array_equal(mine, theirs)


def test_keys_of_one_bucket_alone():
    keys = np.full(100, 70_000, np.int32)
    offsets, values, others = buckets.grouped_by_buckets(
        keys, 100_000, np.arange(100, dtype=np.float32), np.arange(100, dtype=np.int32)
    )
    assert np.array_equal(values, np.arange(100))
    assert np.array_equal(others, np.arange(100))
    assert not offsets[:70_001].any()
    assert (offsets[70_001:] == 100).all()


def test_random_columns_are_scattered_and_diagonals_are_not(monkeypatch):
    monkeypatch.setattr(buckets, "MANY", 1)
    rows, each = 20_000, 4
    offsets = np.arange(rows + 1, dtype=np.int32) * each
    owners = np.repeat(np.arange(rows, dtype=np.int32), each)
    generator = np.random.default_rng(0)
    anywhere = np.sort(generator.integers(0, 10**6, (rows, each), np.int32), axis=1).reshape(-1)
    # Two pairs of diagonals, far from each other.
    along = (owners.reshape(rows, each) + np.array([0, 1, 500_000, 500_001])).reshape(-1)
    for columns, far in ((anywhere, True), (along.astype(np.int32), False)):
        assert buckets.scattered_rows(columns, offsets) == far
        assert buckets.scattered_entries(owners, columns) == far
        matrix = Rows((rows, 10**6), columns.astype(np.float32), columns, offsets)
        made = turned(matrix)
        expected = grouped_at_once(columns, 10**6, matrix.values, owners)
        assert np.array_equal(made.offsets, expected[0])
        assert np.array_equal(made.values, expected[1])
        assert np.array_equal(made.columns, expected[2])
    assert buckets.scattered(anywhere)
    assert not buckets.scattered(np.sort(anywhere))


def test_few_entries_are_never_scattered():
    keys = np.random.default_rng(0).integers(0, 10**6, 1000, np.int32)
    assert not buckets.scattered(keys)
    assert not buckets.scattered_entries(np.sort(keys), keys)
    assert not buckets.scattered_rows(keys, np.array([0, 500, 1000]))
