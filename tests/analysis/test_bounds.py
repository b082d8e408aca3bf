"""Bounds from rates: the identities that hold between them, and the sizes of layers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooftile.analysis import bounds, layers, speedup
from rooftile.errors import InputError
from rooftile.ops import Conv2d

positive = st.floats(1e-3, 1e6)


@given(positive, positive, positive, positive)
def test_the_roofline_is_the_lower_of_two_limits(flop, moved, peak, bandwidth):
    found = bounds.roofline(flop, moved, peak, bandwidth)
    time = max(flop / peak, moved / bandwidth)
    assert found.gflops == pytest.approx(flop / time)
    assert found.gflops <= peak
    assert found.limit == ("memory" if found.gflops < peak else "compute")


@given(positive, positive)
def test_what_is_under_way_arrives_within_a_latency(bandwidth, latency):
    needed = bounds.bytes_under_way(bandwidth, latency)
    assert bounds.rate_gb_s(needed, latency * 1e-9) == pytest.approx(bandwidth)
    with pytest.raises(InputError, match="latency_ns"):
        bounds.bytes_under_way(bandwidth, 0)


def test_what_only_moves_is_bound_by_memory():
    found = bounds.roofline(0, 100, 10.0, 10.0)
    assert (found.gflops, found.limit, found.intensity) == (0, "memory", 0)


@given(positive, positive, positive)
def test_the_reuse_that_is_needed_reaches_the_peak(bandwidth, bytes_per_flop, peak):
    reuse = bounds.reuse_needed(bandwidth, bytes_per_flop, peak)
    rate = bounds.bandwidth_rate(bandwidth, bytes_per_flop / reuse)
    assert bounds.percent_of_peak(rate, peak) == pytest.approx(100)


@given(st.integers(1, 3), st.integers(1, 4), st.integers(5, 12), st.integers(1, 5))
def test_unrolled_matrices_and_flops(channels, maps, size, mask):
    problem = Conv2d(1, channels, size, size + 1, maps, (mask, mask))
    x = np.ones((channels, size, size + 1))
    windows = np.lib.stride_tricks.sliding_window_view(x, (mask, mask), axis=(1, 2))
    found = layers.unrolled(problem)
    assert found.rows * found.columns == windows.size
    assert found.replication == windows.size / x.size
    rows, columns = problem.output_size
    assert layers.conv_flops(maps, channels, mask, rows, columns) == problem.flops
    assert layers.matmul_flops(maps, found.rows, found.columns) == problem.flops


def test_parameters_of_a_network():
    assert layers.mlp_parameters([784, 500]) == (392000, 500)
    assert layers.mlp_parameters([3, 4, 5]) == (12 + 20, 9)
    with pytest.raises(InputError, match="widths"):
        layers.mlp_parameters([784])


@given(st.floats(0, 0.999), st.integers(1, 1000))
def test_laws_of_speed_up(parallel, n):
    fixed, scaled = speedup.amdahl(parallel, n), speedup.gustafson(parallel, n)
    assert fixed + 1e-9 >= 1
    assert fixed <= speedup.amdahl_limit(parallel) + 1e-9
    assert fixed <= scaled + 1e-9
    assert scaled == pytest.approx(1 - parallel + parallel * n)
    assert speedup.memory_constrained(parallel, n, 1) == pytest.approx(fixed)
    assert speedup.part_speedup(2.0, 2.0 * parallel, n) == pytest.approx(fixed)


def test_bad_input():
    with pytest.raises(InputError, match="parallel"):
        speedup.amdahl(1.5, 4)
    with pytest.raises(InputError, match="part_s"):
        speedup.part_speedup(1.0, 2.0, 2)
    with pytest.raises(InputError, match="bandwidth_gb_s"):
        bounds.bandwidth_rate(0, 4)
    with pytest.raises(InputError, match="window"):
        layers.pooled_size(3, 4)
