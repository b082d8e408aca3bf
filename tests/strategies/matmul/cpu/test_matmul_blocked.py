"""`blocked` of `matmul` on the CPU: matrices laid anew and multiplied in one run."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import rooftile
from rooftile.devices import cpu
from rooftile.devices.cpu import CpuDevice
from rooftile.ops.patterns.matmul import Matmul
from rooftile.strategies.matmul.cpu.blocked import STRATEGY

TRANSPOSED = [(False, False), (False, True), (True, False), (True, True)]


def values(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


def lying(matrix, transposed):
    """The matrix with its columns beside each other."""
    return np.ascontiguousarray(matrix.T) if transposed else matrix


@pytest.mark.parametrize(("transpose_a", "transpose_b"), TRANSPOSED)
@pytest.mark.parametrize("rows", [1, 24, 25, 97, 150, 390])
def test_a_row_has_the_same_bits_among_any_rows(rows, transpose_a, transpose_b):
    a, b = values(0, 390, 131), values(1, 131, 75)
    flags = {"transpose_a": transpose_a, "transpose_b": transpose_b}
    right = lying(b, transpose_b)
    all_rows = rooftile.matmul(lying(a, transpose_a), right, **flags, strategy="blocked")
    some = rooftile.matmul(lying(a[:rows], transpose_a), right, **flags, strategy="blocked")
    np.testing.assert_array_equal(some, all_rows[:rows])


@pytest.mark.parametrize(("transpose_a", "transpose_b"), TRANSPOSED)
def test_a_whole_call_of_pythons_has_the_same_bits(transpose_a, transpose_b):
    problem = Matmul(50, 70, 90, transpose_a=transpose_a, transpose_b=transpose_b)
    quick = STRATEGY.bind(problem, (), CpuDevice(2)).quick()
    assert quick is not None
    slow = STRATEGY.bind(problem, (), CpuDevice(2))
    for seed in range(3):
        a, b = (
            lying(values(seed, 50, 70), transpose_a),
            lying(values(seed + 9, 70, 90), transpose_b),
        )
        expected = np.full((50, 90), np.nan, np.float32)
        slow(a, b, expected)
        np.testing.assert_array_equal(quick((a, b), None), expected)


@pytest.mark.parametrize("size", [60, 300])
def test_eight_threads_with_matrices_of_their_own(size):
    # The large ones give the GIL back.
    assert (3 * 4 * size**2 > cpu.MOST_HELD) == (size == 300)
    pairs = [(values(k, size, size), values(k + 50, size, size)) for k in range(8)]
    expected = [rooftile.matmul(*pair) for pair in pairs]

    def work(k):
        return [np.array_equal(rooftile.matmul(*pairs[k]), expected[k]) for _ in range(30)]

    with ThreadPoolExecutor(8) as pool:
        assert all(map(all, pool.map(work, range(8))))
