"""Every rung of `scan`: right on ordinary and hard inputs, along any axis, from either end."""

from __future__ import annotations

from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooftile.devices import cpu
from rooftile.devices.cuda.compile import compile_cubin, cuda_core, specific
from rooftile.devices.cuda.cubin import resources
from rooftile.errors import DeviceMissing, InputError, UnsupportedProblem
from rooftile.lab.judge.verify import verify
from rooftile.ops import parse
from rooftile.ops.operator import MAX, MIN, PRODUCT, SUM, Operator
from rooftile.ops.patterns.scan import Scan
from rooftile.strategies import ladder, strategy
from tests.support.caught import check_caught
from tests.support.labs import cases_of

CPU, GPU, CUDA = ladder("scan"), ladder("scan", "opencl"), ladder("scan", "cuda")
LAST = Operator("b == 0 ? a : b", 0, commutative=False)
"""The last that is not 0: whoever takes neighbours out of order is wrong."""
DECAYING = Operator("0.5 * a + b", 0, associative=False, commutative=False)

PROBLEMS = (
    Scan((1,)),
    Scan((20_011,)),
    Scan((5001,), dtype="uint8", exclusive=True, reverse=True),
    Scan((3001,), dtype="bfloat16", reverse=True),
    Scan((2101,), operator=LAST, dtype="int64"),
    Scan((20, 1003), operator=MIN, exclusive=True),
    Scan((11, 1003), operator=PRODUCT, reverse=True),
    Scan((3, 130, 33), 1, exclusive=True),
    Scan((200, 40), 0, operator=MAX, dtype="int32", reverse=True),
    Scan((300, 7), 0, dtype="float64"),
    Scan((5, 301), dtype="uint64", operator=MAX),
    Scan((70, 4), 0, operator=DECAYING),
)
LINES = (
    Scan((5003,)),
    Scan((5, 2101), exclusive=True, reverse=True, operator=LAST, dtype="int64"),
)
COLUMNS = (Scan((3, 130, 36), 1, reverse=True), Scan((70, 40), 0, operator=MAX, exclusive=True))
ON_GPUS = [
    pytest.param(rung, problem, id=f"{rung.name}-{number}")
    for rung in GPU
    for number, problem in enumerate(COLUMNS if rung.name == "columns" else LINES)
]


def taken(rungs, problem):
    return [rung for rung in rungs if rung.why_not(problem) is None]


def test_refusals_say_why():
    for rung in (*CPU, *CUDA):
        if rung.name not in ("loops", "sequential", "columns"):
            assert "operator" in rung.why_not(Scan((9,), operator=DECAYING))
    with pytest.raises(UnsupportedProblem, match="are not adjacent"):
        verify(Scan((9,)), strategy("scan", "columns"))
    assert "16" in strategy("scan", "recursive", "cuda").why_not(Scan((9,), dtype="float16"))


@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
def test_right_on_the_cpu(problem):
    for rung in taken(CPU, problem):
        verify(problem, rung, hard=True, neighbours=False, threads=2).raise_if_wrong()


@pytest.mark.parametrize(("rung", "problem"), ON_GPUS)
def test_right_on_every_device(rung, problem, device):
    verify(problem, rung, device=device, hard=True, neighbours=False).raise_if_wrong()


@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
def test_right_on_cuda(problem, cuda_device):
    for rung in taken(CUDA, problem):
        verify(problem, rung, device=cuda_device, hard=True).raise_if_wrong()


def test_many_tiles_look_back_and_every_run_gives_the_same_bits(cuda_device):
    rung = strategy("scan", "look_back", "cuda")
    for problem in (Scan((10_000_019,)), Scan((3, 3_000_000), reverse=True, exclusive=True)):
        verify(problem, rung, device=cuda_device, neighbours=False).raise_if_wrong()
        (x,) = problem.random(0)
        bound, made = rung.bind(problem, (), cuda_device), []
        for _ in range(10):
            made.append(np.empty(problem.shape, np.float32))
            bound(x, made[-1])
        assert all((one == made[0]).all() for one in made)


@settings(max_examples=15, deadline=None)
@given(
    lines=st.lists(st.integers(1, 12), max_size=2), count=st.integers(1, 3000),
    axis=st.integers(-1, 0), seed=st.integers(0, 99),
)  # fmt: skip
def test_any_shape_on_the_cpu(lines, count, axis, seed):
    problem = Scan((*lines, count) if axis else (count, *lines), axis)
    for rung in taken(CPU[1:], problem):
        verify(problem, rung, seed, neighbours=False).raise_if_wrong()


@settings(max_examples=10, deadline=None)
@given(count=st.integers(1, 9000), lines=st.integers(1, 5), seed=st.integers(0, 99))
def test_any_length_on_opencl(count, lines, seed, opencl_device):
    problem = Scan((lines, count))
    for name in ("brent_kung", "recursive", "sums_first"):
        rung = strategy("scan", name, "opencl")
        verify(problem, rung, seed, device=opencl_device, neighbours=False).raise_if_wrong()


def course():
    """Input and expected output of each case of a course's lab."""
    for case in cases_of("scan_inclusive"):
        yield tuple(
            np.array((case / name).read_text().split()[1:], np.float32)
            for name in ("input.raw", "output.raw")
        )


@pytest.mark.parametrize("rung", CPU, ids=lambda rung: rung.name)
def test_the_course_lab_on_the_cpu(rung):
    check_course(rung, cpu.open_device(2))


@pytest.mark.parametrize("rung", GPU, ids=lambda rung: rung.name)
def test_the_course_lab_on_every_device(rung, device):
    check_course(rung, device)


@pytest.mark.parametrize("rung", CUDA, ids=lambda rung: rung.name)
def test_the_course_lab_on_cuda(rung, cuda_device):
    check_course(rung, cuda_device)


def check_course(rung, device):
    """Exactly: all sums are whole numbers below 2^24.  Columns get the lab's lists side by side."""
    for x, expected in course():
        wide = 16 if rung.name in ("columns",) else 1
        problem = Scan((len(x), wide) if wide > 1 else (len(x),), 0)
        given = np.repeat(x[:, None], wide, 1).reshape(problem.shape)
        y = np.empty(problem.shape, np.float32)
        rung.bind(problem, (), device)(given, y)
        assert (y.reshape(len(x), wide) == expected[:, None]).all()


@pytest.mark.parametrize("strategy_name", ["loops", "two_pass", "vectors"])
def test_ones_do_not_stop_growing(strategy_name):
    """NumPy's float32 stops at 2^24."""
    count = 2**24 + 70_001
    problem = Scan((count,))
    x, y = np.ones(count, np.float32), np.empty(count, np.float32)
    strategy("scan", strategy_name).bind(problem, (), cpu.open_device(2))(x, y)
    assert (y == np.arange(1, count + 1).astype(np.float32)).all()
    assert np.cumsum(x)[-1] == 2**24


def test_the_number_of_threads_changes_no_bit():
    for problem in (Scan((500_003,)), Scan((20, 5003)), Scan((300, 700), 0)):
        (x,) = problem.random(1)
        for rung in taken(CPU, problem):
            made = [np.empty(problem.shape, np.float32) for _ in range(3)]
            for threads, y in enumerate(made, 1):
                rung.bind(problem, (), cpu.open_device(threads))(x, y)
            assert (made[0] == made[1]).all()
            assert (made[0] == made[2]).all()


@pytest.mark.parametrize("lead", [0, 4, 1])
def test_streaming_stores_wherever_results_begin(monkeypatch, lead):
    """On a line of the cache; 16 bytes on, as NumPy's large arrays; and where none are possible."""
    rung = strategy("scan", "vectors")
    for problem in (Scan((150_001,)), Scan((9, 320), reverse=True), Scan((130, 64), 0)):
        (x,) = problem.random(3)
        made = []
        for streams in (False, True):
            monkeypatch.setattr(
                "rooftile.strategies.scan.cpu.vectors.pays", lambda nbytes, pays=streams: pays
            )
            held = cpu.aligned((lead + x.size,), np.dtype(np.float32), "y")
            y = held[lead:].reshape(problem.shape)
            rung.bind(problem, (), cpu.open_device(2))(x, y)
            made.append(y)
        assert np.allclose(made[0], problem.reference(x), atol=1e-3)
        assert (made[0] == made[1]).all()


WRONG = {
    "the neighbour itself": (
        "kogge_stone", "held[thread - reach] : IDENTITY", "held[thread] : IDENTITY",
    ),
    "inactive threads do not copy": ("kogge_stone_double", ", own) : own;", ", own) : IDENTITY;"),
    "a level of the tree down is missing": ("brent_kung", "SECTION / 4", "SECTION / 8"),
    "nothing from the sections before": ("three_phase", "value_of(before), y", "IDENTITY, y"),
    "the section's own sum": ("hierarchical", "sums[blockIdx.x - 1]", "sums[blockIdx.x]"),
    "the stretch's own sum": ("sums_first", "sums[blockIdx.x - 1]", "sums[blockIdx.x]"),
    "teams without what is before them": (
        "columns", "totals[t][at] = value_of(before[k]);", "totals[t][at] = of_team;",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_texts_are_caught(name, opencl_device, tmp_path):
    rung, before, after = WRONG[name]
    wrong = copy(strategy("scan", rung, "opencl"))
    text = wrong.whole_text
    assert before in text
    wrong.__dict__["text"] = text.replace(before, after)
    problem = Scan((2000, 8), 0) if rung == "columns" else Scan((3, 5001))
    check_caught(wrong, problem, opencl_device, tmp_path, neighbours=False)


def test_waves_are_launched_as_a_whole():
    rung, problem = strategy("scan", "waves", "cuda"), Scan((2**28,))
    config = rung.config(problem)
    clear, scan = (step.launch for step in rung.steps(problem, config))
    assert (clear.cooperative, scan.cooperative) == (False, True)
    assert rung.invalid(problem, config) is None
    assert "shared memory" in rung.invalid(problem, {**config, "BLOCKS": 3})
    small = replace(rung.machine, shared_bytes=102_400, block_shared_bytes=101_376)
    placed = rung.on(small)
    assert placed.invalid(problem, placed.defaults(problem)) is None
    for other in (Scan((2, 9)), Scan((9,), dtype="int32"), Scan((9,), dtype="float16")):
        assert rung.why_not(other) is not None


@pytest.mark.parametrize("rung", CUDA, ids=lambda rung: rung.name)
def test_compiles_without_spills(rung):
    try:
        cuda_core()
    except DeviceMissing as error:
        pytest.skip(str(error))
    architectures = ("sm_75", "sm_90") if rung.devices == ("cuda",) else ("sm_90",)
    problem = next(p for p in (Scan((2**20,)), Scan((64, 64), 0)) if rung.why_not(p) is None)
    for architecture in architectures:
        if rung.why_not_on(architecture):
            continue
        macros = rung.macros(problem, rung.config(problem))
        code = compile_cubin(rung.text, macros, specific(architecture), rung.folders)
        assert all(kernel.frame_bytes == 0 for kernel in resources(code).values())


def kogge_stone(count, combine):
    reach = 1
    while reach < count:
        combine((i - reach, i) for i in range(count - 1, reach - 1, -1))
        reach *= 2


def brent_kung(count, combine):
    reach = 1
    while reach < count:
        combine((i - reach, i) for i in range(2 * reach - 1, count, 2 * reach))
        reach *= 2
    reach //= 4
    while reach:
        combine((i - reach, i) for i in range(3 * reach - 1, count, 2 * reach))
        reach //= 2


def three_phase(count, combine, threads=256):
    run = count // threads
    for e in range(1, run):
        combine((t * run + e - 1, t * run + e) for t in range(threads))
    ends = [t * run + run - 1 for t in range(threads)]
    kogge_stone(threads, lambda pairs: combine((ends[i], ends[j]) for i, j in pairs))
    # The ends have theirs already: in the kernel they are added to once more, from a copy.
    for e in range(run):
        combine((ends[t - 1], t * run + e if e < run - 1 else None) for t in range(1, threads))


@pytest.mark.parametrize(
    ("method", "count", "work", "steps"),
    [
        (kogge_stone, 2048, 2048 * 11 - 2047, 11),
        (kogge_stone, 1024, 9217, 10),
        (brent_kung, 2048, 4083, 21),
        (three_phase, 2048, 5625, 23),
    ],
)
def test_work_and_steps_are_those_of_the_page(method, count, work, steps):
    sums, done = np.ones(count, np.int64), []

    def combine(pairs):
        pairs = list(pairs)
        done.append(len(pairs))
        for i, j in pairs:
            if j is not None:
                sums[j] += sums[i]

    method(count, combine)
    assert (sums == np.arange(1, count + 1)).all()
    assert (sum(done), len(done)) == (work, steps)


def test_counts_of_launches():
    """2^30 elements: hierarchical's three kernels, and recursive's levels of sections of 2048."""
    problem = Scan((2**30,))
    rung = strategy("scan", "recursive", "cuda")
    steps = rung.steps(problem, rung.config(problem))
    assert [step.launch.kernel for step in steps] == [
        f"recursive_{what}"
        for what in ("scan_sections", "scan_level", "scan_level", "add_level", "add_sums")
    ]
    assert [step.launch.grid[0] for step in steps] == [2**19, 256, 1, 256, 2**19]
    rung = strategy("scan", "hierarchical", "cuda")
    assert len(rung.steps(problem, rung.config(problem))) == 3


def test_problems():
    problem = parse("scan", "shape=3x4x5,axis=1,dtype=uint8,operator=max,exclusive=1")
    assert problem == Scan((3, 4, 5), 1, "uint8", MAX, True)
    assert (problem.outer, problem.count, problem.inner, problem.lines) == (3, 4, 5, 15)
    assert problem.output_arrays[0].dtype == "uint8"
    assert Scan((7,), dtype="uint8").output_arrays[0].dtype == "int64"
    assert Scan((3, 4), -1) == Scan((3, 4), 1)
    assert Scan((2**28,)).bytes == 2**31
    assert Scan((2**28,)).shrunk() == Scan((2**20,))
    x = np.array([[3, 1, 7, 0, 4, 1, 6, 3]], np.float32)
    assert (Scan((1, 8)).reference(x) == [[3, 4, 11, 11, 15, 16, 22, 25]]).all()
    assert (Scan((1, 8), exclusive=True).reference(x) == [[0, 3, 4, 11, 11, 15, 16, 22]]).all()
    assert (Scan((1, 8), reverse=True).reference(x)[0, -3:] == [10, 9, 3]).all()
    assert SUM.name == "sum"
    for wrong in ({"axis": 2}, {"axis": True}, {"dtype": "complex64"}, {"shape": (3, 0)}):
        with pytest.raises(InputError):
            Scan(**{"shape": (3, 4), **wrong})
