"""Advice on the CPU's strategies follows from the numbers."""

from __future__ import annotations

import dataclasses

import pytest

from rooftile.lab.measure.ceilings.cpu import Ceilings, Rates
from rooftile.lab.show.explain import processor
from rooftile.lab.show.explain.machine_code import Loop
from rooftile.lab.show.explain.measured import Measured
from rooftile.ops import named
from rooftile.strategies import strategy

RATES = Rates(threads=2, fma_gflops=200.0, read_gbps=30.0, copy_gbps=30.0, stream_copy_gbps=40.0)


@pytest.fixture
def explained(monkeypatch):
    monkeypatch.setattr(processor, "ceilings", lambda **_: Ceilings(RATES, RATES, True))
    return processor.explain_cpu(
        strategy("conv2d", "register_tile"), named("conv2d", "lenet-conv1", 8)
    )


def measured(found, share):
    time = Measured(found.floor_ms / share, None, "a CPU", "a test", {})
    return dataclasses.replace(found, units=1000, measured=time)


def test_few_units_leave_some_of_several_threads_idle(explained):
    few = dataclasses.replace(explained, units=3, threads=2)
    assert "leave some idle" in few.advice()[0]
    assert not any("idle" in line for line in dataclasses.replace(few, threads=1).advice())
    assert not any("idle" in line for line in dataclasses.replace(few, units=None).advice())
    # Microseconds of work are not shared out better.
    assert not any("idle" in line for line in dataclasses.replace(few, floor_ms=0.003).advice())


def test_advice_follows_from_the_share_of_the_floor(explained):
    assert "No time of it" in dataclasses.replace(explained, units=1000).advice()[0]
    assert "0.67 times the floor" in measured(explained, 1.5).advice()[0]
    assert "little is left" in measured(explained, 0.8).advice()[0]
    assert "larger tile" in measured(explained, 0.2).advice()[0]


LOOP = Loop(19, 0, 2, 1, 2, chains=1, longest_chain=1, registers=2, loads=2, spills=0, branches=2)


def test_loops_need_threads_and_vectors_before_tiles(explained):
    loops = dataclasses.replace(measured(explained, 0.01), threads=1, cores=2, loop=LOOP)
    cores, vectors = loops.advice()
    assert "One of 2 cores works: its 1,000 units" in cores
    assert "2 branches stand in its busiest loop" in vectors
    exponentials = dataclasses.replace(LOOP, branches=0, calls=("expf",))
    assert "calls expf for one element" in dataclasses.replace(loops, loop=exponentials).advice()[1]


def test_a_loop_of_vectors_lacks_chains_or_registers(explained):
    vectors = dataclasses.replace(LOOP, vector_operations=2, scalar_operations=0, lanes=16)
    some = measured(dataclasses.replace(explained, loop=vectors, vector_lanes=16, step_ns=2.0), 0.1)
    # 100 GFLOP/s a thread are 50 multiply-adds a ns; 6.25 vectors of 16 must be under way.
    assert some.chains_needed == pytest.approx(6.25)
    assert "6 are needed to hide" in some.advice()[0]
    spilled = dataclasses.replace(vectors, spills=3)
    assert (
        "3 instructions of its busiest loop" in dataclasses.replace(some, loop=spilled).advice()[0]
    )


def test_a_softmax_far_from_the_floor_of_memory_is_not_bound_by_it(explained):
    memory = dataclasses.replace(explained.bound, limit="memory")
    far = dataclasses.replace(measured(explained, 0.1), bound=memory, loop=None)
    assert "not memory but instructions" in far.advice()[0]
    near = dataclasses.replace(measured(explained, 0.6), bound=memory, loop=None)
    assert "Memory bounds the problem" in near.advice()[0]


def test_a_matrix_between_the_parts_is_told(explained):
    problem = explained.problem
    trips = strategy("conv2d", "im2col").round_trips(problem)
    columns = problem.batch * problem.conv_span[0] * problem.conv_span[1]
    assert trips["the unrolled matrix"] == 4 * problem.reduction * columns
    found = dataclasses.replace(measured(explained, 0.2), round_trips=trips, loop=None)
    assert "the unrolled matrix" in found.advice()[0]
