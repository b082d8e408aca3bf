"""Pipelines against a simulation of their engines; links."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooftile.analysis import transfers
from rooftile.analysis.transfers import PCIE, Pipeline, overlapping_copies, pcie_bandwidth
from rooftile.errors import InputError

times = st.floats(0, 100)


def _simulated(pipeline, n, engines):
    """Each engine serves its jobs in order; a job starts when its segment's last one is done."""
    a, b, c = (
        pipeline.in_s / n, pipeline.overhead_s + pipeline.compute_s / n, pipeline.out_s / n
    )  # fmt: skip
    jobs = [("in", 0, a)]
    for i in range(n):
        jobs += [("in", i + 1, a)] if i + 1 < n else []
        jobs += [("run", i, b), ("out", i, c)]
    engine_of = {"in": "copy", "out": "copy"} if engines == 1 else {}
    free, done = {}, {}
    for stage, i, duration in jobs:
        engine = engine_of.get(stage, stage)
        start = max(free.get(engine, 0), done.get(i, 0))
        free[engine] = done[i] = start + duration
    return max(done.values())


@given(times, times, times, st.floats(0, 10), st.integers(1, 20), st.sampled_from((1, 2)))
def test_time_of_a_pipeline(in_s, compute_s, out_s, overhead, n, engines):
    pipeline = Pipeline(in_s, compute_s, out_s, overhead)
    expected = _simulated(pipeline, n, engines)
    assert pipeline.seconds(n, engines) == pytest.approx(expected, abs=1e-9)
    assert pipeline.seconds(n, engines) <= pipeline.seconds(n, 0) + 1e-9


@given(times, times, times, st.floats(0.05, 10))
def test_the_best_number_of_segments(in_s, compute_s, out_s, overhead):
    pipeline = Pipeline(in_s, compute_s, out_s, overhead)
    best = pipeline.best_segments()
    most = int(pipeline.seconds(1) / overhead) + 1
    least = min(pipeline.seconds(n) for n in range(1, most + 1))
    assert all(pipeline.seconds(n) == pytest.approx(least, rel=1e-9) for n in best)


def test_ties_are_all_told():
    assert Pipeline(10, 20, 10, 1).best_segments() == (4, 5)


@given(times, times, st.integers(2, 40), st.integers(1, 39))
def test_the_overhead_at_which_fewer_segments_win(in_s, out_s, more, fewer):
    if fewer >= more:
        with pytest.raises(InputError, match="fewer"):
            transfers.overhead_threshold(in_s, out_s, more, fewer)
        return
    overhead = transfers.overhead_threshold(in_s, out_s, more, fewer)
    pipeline = Pipeline(in_s, max(in_s, out_s), out_s, overhead)
    assert pipeline.seconds(more) == pytest.approx(pipeline.seconds(fewer), abs=1e-9)


ops = st.lists(st.tuples(st.sampled_from(("h2d", "d2h", "kernel")), st.integers(0, 2)), max_size=8)


@given(ops)
def test_copies_that_overlap_are_those_that_no_chain_of_waiting_joins(ops):
    n = len(ops)
    waits = [[i < j and (ops[i][0] == ops[j][0] or ops[i][1] == ops[j][1]) for j in range(n)]
             for i in range(n)]  # fmt: skip
    for k in range(n):
        for i in range(n):
            for j in range(n):
                waits[i][j] = waits[i][j] or (waits[i][k] and waits[k][j])
    free = {
        (i + 1, j + 1)
        for j in range(n)
        for i in range(j)
        if not waits[i][j] and "kernel" not in (ops[i][0], ops[j][0])
    }
    assert set(overlapping_copies(ops)) == free
    assert free <= set(overlapping_copies(ops, issue_order=False))


def test_links():
    assert pcie_bandwidth(*PCIE[3], 16) == pytest.approx(15.7538, rel=1e-5)
    assert pcie_bandwidth(*PCIE[1], 1) == pytest.approx(0.25)
    assert transfers.parallel_bus_mb_s(66, 64) == 528
    assert transfers.code_balance(10, 8) == (4, 6)
    assert transfers.code_balance(9, 8) == (3, 6)
    with pytest.raises(InputError, match="data_bits"):
        transfers.code_balance(8, 9)


def test_speed_up_without_transfers_is_that_of_the_kernel():
    assert transfers.gpu_speedup(2.0, 0.5, 0, 0, 16) == 4.0
    assert transfers.gpu_speedup(2.0, 0.5, 8e9, 0, 16) == 2.0
    with pytest.raises(InputError, match="link_gb_s"):
        transfers.gpu_speedup(2.0, 0.5, 1, 1, 0)
    with pytest.raises(InputError, match="overhead_s"):
        Pipeline(1, 1, 1).best_segments()
