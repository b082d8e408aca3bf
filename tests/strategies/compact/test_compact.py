"""Every rung of `compact`: the elements that are kept, bit by bit, in their order or in any."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooftile.devices import cpu
from rooftile.errors import InputError
from rooftile.lab.judge.exam import Exam
from rooftile.lab.judge.verify import computing, verify
from rooftile.ops import parse
from rooftile.ops.patterns.compact import Compact
from rooftile.strategies import ladder, strategy
from tests.support.every_rung import EveryRung, Wrong

ANY_ORDER = Compact(5003, ordered=False)
CPU = ladder("compact")


class TestRungs(EveryRung):
    problems = (
        Compact(1),
        Compact(70_001),
        Compact(5001, "uint8", ordered=False),
        Compact(3001, "float64", share=0.01),
        Compact(4001, "bfloat16", share=0.99),
        ANY_ORDER,
    )
    near = (Compact(64), ANY_ORDER)
    configured = (ANY_ORDER,)
    compiled = (Compact(2**20), Compact(2**20, "uint8", ordered=False))
    wrong = Wrong(
        ANY_ORDER,
        ("sequential", "if (mask[i])", "if (i % 2)"),
        ("three_launches", "before + rank] = x[i]", "before + threadIdx.x] = x[i]"),
        ("three_launches", "places[section] = before + rank", "places[section] = rank + own"),
        ("atomic", "ADD_LONG(kept, 1)", "kept[0]"),
        ("aggregated", "before + rank", "before"),
    )


def test_a_lost_order_is_caught(opencl_device):
    """Rungs that lose it refuse where it matters; whoever made them take it would be caught."""
    for name in ("atomic", "aggregated"):
        assert "order matters" in strategy("compact", name, "opencl").why_not(Compact(9))
    problem = Compact(1000)
    x, mask = problem.random(0)
    y, kept = problem.reference(x, mask)
    judge = Exam(problem, arrays=(x, mask)).expected
    assert judge.judge((y, kept), "ieee").passed
    turned = np.concatenate((y[: kept[0]][::-1], y[kept[0] :]))
    assert "not those that the mask keeps" in judge.judge((turned, kept), "ieee").reason
    assert not judge.judge((y, kept + 1), "ieee").passed
    unordered = Exam(Compact(1000, ordered=False), arrays=(x, mask)).expected
    assert unordered.judge((turned, kept), "ieee").passed


@settings(max_examples=25)
@given(
    count=st.integers(1, 9000), share=st.sampled_from([0.0, 0.001, 0.5, 0.97, 1.0]),
    dtype=st.sampled_from(["float32", "uint8", "float16", "int64"]), seed=st.integers(0, 99),
)  # fmt: skip
def test_any_length_and_share_on_the_cpu(count, share, dtype, seed):
    problem = Compact(count, dtype, share=share)
    for rung in CPU:
        if rung.why_not(problem) is None:
            verify(problem, rung, seed, neighbours=False).raise_if_wrong()


def test_nothing_is_written_behind_what_is_kept():
    """Parts end where the next one begins, whoever is faster."""
    problem = Compact(40_000, share=0.3)
    x, mask = problem.random(5)
    wanted = x[mask]
    for rung in CPU:
        if rung.why_not(problem) is not None:
            continue
        exam = Exam(problem, arrays=(x, mask))
        bound = rung.bind(problem, (), cpu.open_device(2))
        y, kept = np.full(problem.count, np.float32(7)), np.zeros(1, np.int64)
        computing(bound)(*exam.inputs, y, kept)
        assert (y[: kept[0]] == wanted).all()
        assert (y[kept[0] :] == 7).all()


@pytest.mark.parametrize(
    ("name", "dtype"), [("look_back", "float32"), ("look_back", "uint8"), ("waves", "float32")]
)
def test_every_run_gives_the_same_of_many_tiles(name, dtype, cuda_device):
    problem, rung = Compact(20_000_003, dtype, share=0.7), strategy("compact", name, "cuda")
    if rung.why_not_on(cuda_device.description.architecture) is None:
        verify(problem, rung, device=cuda_device, hard=True, neighbours=False).raise_if_wrong()


def test_waves_take_what_fits():
    rung, problem = strategy("compact", "waves", "cuda"), Compact(2**28)
    config = rung.config(problem)
    assert [step.launch.cooperative for step in rung.steps(problem, config)] == [False, True]
    assert rung.invalid(problem, config) is None
    assert "shared memory" in rung.invalid(problem, {**config, "BLOCKS": 2})
    small = rung.on(replace(rung.machine, shared_bytes=102_400, block_shared_bytes=101_376))
    assert small.invalid(problem, small.defaults(problem)) is None
    assert rung.why_not(Compact(9, "uint8")) is not None


def test_problems():
    problem = parse("compact", "count=9,dtype=uint8,ordered=0,share=0.25")
    assert problem == Compact(9, "uint8", False, 0.25)
    assert Compact(100).bytes == 400 + 100 + 200 + 8
    for wrong in ({"count": 0}, {"dtype": "complex64"}, {"share": 1.5}):
        with pytest.raises(InputError):
            Compact(**{"count": 3, **wrong})
