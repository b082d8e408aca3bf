"""Operations and steps against running the algorithms."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooftile.analysis import work
from rooftile.errors import InputError

values = st.lists(st.integers(-9, 9), min_size=1, max_size=70)


def _kogge_stone(x):
    """Additions of each pass, and the scan."""
    x, adds, stride = list(x), [], 1
    while stride < len(x):
        x = [v + x[i - stride] if i >= stride else v for i, v in enumerate(x)]
        adds.append(len(x) - stride)
        stride *= 2
    return adds, x


def _brent_kung(x):
    x, adds, stride = list(x), [], 1
    while stride < len(x):
        places = range(2 * stride - 1, len(x), 2 * stride)
        for i in places:
            x[i] += x[i - stride]
        adds.append(len(places))
        stride *= 2
    stride //= 4
    while len(x) > 2 and stride >= 1:
        places = range(2 * stride - 1, len(x) - stride, 2 * stride)
        for i in places:
            x[i + stride] += x[i]
        adds.append(len(places))
        stride //= 2
    return adds, x


@pytest.mark.parametrize(
    ("name", "algorithm"), [("kogge_stone", _kogge_stone), ("brent_kung", _brent_kung)]
)
@given(x=values)
def test_scans(name, algorithm, x):
    adds, scanned = algorithm(x)
    assert scanned == [sum(x[: i + 1]) for i in range(len(x))]
    assert work.scan(name, len(x)) == work.BlockScan(sum(adds), len(adds))


@given(st.integers(1, 6), st.integers(1, 20))
def test_a_coarse_brent_kung_goes_round(log, threads):
    section = 2**log
    adds, _ = _brent_kung([1] * section)
    rounds = sum(math.ceil(count / threads) for count in adds)
    found = work.brent_kung_coarse(section, threads)
    assert found.part_steps == rounds
    assert found.utilisation == pytest.approx(sum(adds) / (rounds * threads))


@given(values)
def test_tree_reductions(x):
    n, steps, operations = len(x), [], 0
    while n > 1:
        steps.append(n // 2)
        operations += n // 2
        n -= n // 2
    found = work.reduction(len(x))
    assert (found.operations, found.steps) == (operations, len(steps))
    assert found.peak_parallelism == max(steps, default=0)


@given(st.integers(1, 5000), st.integers(1, 8), st.integers(1, 5))
def test_levels_of_a_hierarchical_scan(n, threads, max_blocks):
    launches, elements = 0, n
    while elements > 1 or not launches:
        blocks = range(0, elements, 2 * threads)
        launches += len(range(0, len(blocks), max_blocks))
        elements = len(blocks)
    assert work.hierarchical_scan_launches(n, threads, max_blocks) == launches


@given(st.lists(st.integers(0, 7), max_size=60), st.integers(1, 5), st.integers(0, 8))
def test_a_privatised_histogram(items, blocks, private_bins):
    counted = Counter()
    for block in range(blocks):
        for item in items[block::blocks]:
            counted["reads"] += 1
            counted["shared" if item < private_bins else "global"] += 1
        counted["global"] += private_bins
    private = sum(item < private_bins for item in items)
    found = work.histogram(len(items), private, blocks, private_bins)
    assert found == work.HistogramWork(counted["reads"], 0, counted["shared"], counted["global"])


@given(st.floats(1, 50), st.floats(60, 500), st.floats(0, 1))
def test_hit_rates_and_latencies_are_inverse(l2, dram, hit):
    found = work.atomics(l2, dram, hit, 4)
    assert work.hit_rate(l2, dram, found.latency_ns) == pytest.approx(hit, abs=1e-9)
    latency = work.atomic_latency_for(gflops=found.gflops, flops=4)
    assert latency == pytest.approx(found.latency_ns)
    slower = work.atomic_latency_for(gatomics=found.gatomics, flops=4, flop_ns=0.25)
    assert slower == pytest.approx(found.latency_ns - 1)


def test_times_of_histograms():
    assert work.histogram_ns(30000, 0.8, 1, 10000, 100, 16) == 86500
    assert work.histogram_serial_ns(1000, 900, 1, 100, 8) == 900 + 10000 + 800
    assert work.grid_stride_passes(10000, 8, 1024) == 2


def test_bad_input():
    with pytest.raises(InputError, match="latency_ns"):
        work.hit_rate(5, 500, 600)
    with pytest.raises(InputError, match="algorithm"):
        work.scan("sklansky", 8)
    with pytest.raises(InputError, match="private_items"):
        work.histogram(10, 11, 1, 4)
    with pytest.raises(InputError, match="gatomics"):
        work.atomic_latency_for()
