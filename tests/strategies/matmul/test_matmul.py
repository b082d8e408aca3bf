"""Every textbook rung of `matmul`: right however the matrices lie, on the CPU and on GPUs."""

from __future__ import annotations

from copy import copy
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooftile.devices import cpu
from rooftile.errors import InputError
from rooftile.lab.judge.exam import Exam
from rooftile.lab.judge.verify import computing, verify
from rooftile.lab.measure.peers import cpu as peers
from rooftile.ops import FORMATS, parse
from rooftile.ops.patterns.matmul import Matmul
from rooftile.strategies import ladder, strategy
from tests.support.caught import check_caught
from tests.support.compiling import check_compiles
from tests.support.storage import stored_by
from tests.support.unwritten import assert_same_bits, computes_on_new_memory

LAYOUTS = [(False, False), (False, True), (True, False), (True, True)]
SIZES = [(1, 1, 1), (3, 70, 9), (37, 150, 45), (64, 32, 48), (2, 900, 300)]
PROBLEMS = [Matmul(*sizes, *layout) for sizes in SIZES for layout in LAYOUTS]
CPU, GPU = ladder("matmul"), ladder("matmul", "opencl")
_LABS = Path(__file__).parents[3] / ".." / "shared" / "course-labs" / "matmul"


def taken(rungs, problems=PROBLEMS):
    return [
        pytest.param(rung, problem, id=f"{rung.name}-{number}")
        for rung in rungs
        for number, problem in enumerate(problems)
        if rung.why_not(problem) is None
    ]


@pytest.mark.parametrize(("rung", "problem"), taken(CPU))
def test_right_on_the_cpu(rung, problem):
    verify(problem, rung, hard=True, neighbours=False, threads=2).raise_if_wrong()


@pytest.mark.parametrize(("rung", "problem"), taken(GPU, PROBLEMS[4:16]))
def test_right_on_a_gpu(rung, problem, device):
    verify(problem, rung, device=device, hard=True, neighbours=False).raise_if_wrong()


@settings(max_examples=30)
@given(
    sizes=st.tuples(st.integers(1, 70), st.integers(1, 1000), st.integers(1, 300)),
    layout=st.sampled_from(LAYOUTS), seed=st.integers(0, 99),
)  # fmt: skip
def test_any_shape_on_the_cpu(sizes, layout, seed):
    problem = Matmul(*sizes, *layout)
    for rung in CPU[2:]:
        if rung.why_not(problem) is None:
            verify(problem, rung, seed, neighbours=False).raise_if_wrong()


@settings(max_examples=4)
@given(sizes=st.tuples(*[st.integers(1, 200)] * 3), layout=st.sampled_from(LAYOUTS))
def test_any_shape_on_opencl(opencl_device, sizes, layout):
    problem = Matmul(*sizes, *layout)
    for rung in GPU:
        if rung.why_not(problem) is None:
            verify(problem, rung, device=opencl_device, neighbours=False).raise_if_wrong()


def test_the_number_of_threads_changes_no_bit():
    problem = Matmul(70, 900, 130, True)
    a, b = problem.random(1)
    for name in ("vectors", "blocked"):
        results = []
        for threads in (1, 2, 3):
            results.append(np.empty((70, 130), np.float32))
            bound = strategy("matmul", name).bind(problem, (), cpu.open_device(threads))
            bound(a, b, results[-1])
        assert (results[0] == results[1]).all()
        assert (results[0] == results[2]).all()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("rung", CPU, ids=lambda rung: rung.name)
def test_new_memory_changes_no_bit_and_nothing_computes_on_it(rung, layout):
    problem = Matmul(37, 37, 45, *layout)
    if rung.why_not(problem) is not None:
        return
    a, b = problem.random(0)

    def bind():
        bound = rung.bind(problem, (), cpu.open_device(1))
        return lambda x, out: bound(x, b, out)

    assert_same_bits(bind, (a,), (45,))
    assert not computes_on_new_memory(bind, a, (45,))


def test_pytorch_computes_the_same():
    pytest.importorskip("torch")
    for problem in (Matmul(5, 6, 7, *layout) for layout in LAYOUTS):
        exam = Exam(problem)
        exam.examine(peers.PEERS[0].bind(problem, ()), "ieee").raise_if_wrong()


CONFIGS = {
    "naive": {"BLOCK_X": 64, "BLOCK_Y": 1},
    "tiled_any": {"TILE": 32},
    "corner_turned": {"TILE": 8},
    "rectangular": {"TILE_ROWS": 4, "TILE_COLUMNS": 128},
    "coarsened": {"TILE": 8, "STRIP": 4},
    "two_by_two": {"HALF": 8},
    "register_tile": {"TILE_R": 128, "TILE_C": 64, "TILE_K": 16, "RESULTS_R": 4, "RESULTS_C": 8},
    "warps_terms": {"WARPS": 4},
}


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("layout", LAYOUTS[1:3])
def test_other_configs(name, layout, opencl_device):
    problem = Matmul(150, 70, 132, *layout)
    bound = strategy("matmul", name, "opencl").bind(problem, (), opencl_device, CONFIGS[name])
    Exam(problem).examine(computing(bound), bound.errors).raise_if_wrong()


@pytest.mark.parametrize(
    ("layout", "precision", "flags"),
    [
        *((layout, "fp16", (1, 1)) for layout in LAYOUTS),
        (LAYOUTS[0], "bf16", (1, 1)),
        (LAYOUTS[0], "fp16", (1, 0)),
        (LAYOUTS[1], "bf16", (0, 1)),
    ],
)
def test_few_rows_of_16_bits(layout, precision, flags, opencl_device):
    rung = strategy("matmul", f"few_rows_{precision}", "opencl")
    config = dict(zip(("X_NARROW", "OUT_NARROW"), flags, strict=True))
    for sizes in ((3, 70, 9), (5, 264, 40), (1, 1100, 520)):
        problem, _ = stored_by(rung, Matmul(*sizes, *layout), config)
        whole = {} if problem.transpose_b else {"WHOLE": int(sizes[0] == 5)}
        bound = rung.bind(problem, (), opencl_device, whole)
        kinds = [array.dtype for array in bound.held]
        narrow = FORMATS[precision].dtype
        assert kinds == [narrow if flags[n // 2] else "float32" for n in range(3)]
        Exam(problem).examine(computing(bound), bound.errors).raise_if_wrong()


def test_what_they_do_not_take(opencl_device):
    def reason(name, problem, kind="opencl"):
        return strategy("matmul", name, kind).why_not(problem)

    assert "multiples of 8" in reason("tiled", Matmul(8, 16, 12))
    assert strategy("matmul", "tiled", "opencl").config(Matmul(8, 16, 32)) == {"TILE": 8}
    assert "neither" in reason("corner_turned", Matmul(8, 8, 8))
    assert "transpose_b" in reason("orders", Matmul(2, 3, 4, False, True), "cpu")
    assert "both matrices" in reason("vectors", Matmul(2, 3, 4, True, True), "cpu")
    assert "32-bit" in reason("naive", Matmul(1, 1, 2**31))
    rung = strategy("matmul", "register_tile", "opencl")
    with pytest.raises(InputError, match="4 threads wide"):
        rung.bind(Matmul(9, 9, 9), (), opencl_device, {"TILE_C": 32, "RESULTS_C": 8})
    with pytest.raises(InputError, match="do not divide 8"):
        strategy("matmul", "tiled", "opencl").bind(
            Matmul(8, 16, 16), (), opencl_device, {"TILE": 16}
        )


def changed(name, *changes):
    """A rung with something changed in its text."""
    rung = copy(strategy("matmul", name, "opencl"))
    text = rung.whole_text
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    rung.__dict__["text"] = text
    return rung


SINGLE_GUARD = (
    # The course's classic mistake: only threads that have a result load, under one guard for both.
    ("bool in_a = i < rows && start + tx < inner, in_b = start + ty < inner && j < columns;",
     "bool in_a = i < rows && j < columns, in_b = in_a;"),
)  # fmt: skip
WRONG = {
    "one guard for both loads": ("tiled_any", *SINGLE_GUARD),
    "the first tile of b again": ("tiled_any", ("place_in_b(start + ty", "place_in_b(ty")),
    "the last term forgotten": ("naive", ("RUN : inner;", "RUN : inner - 1;")),
    "tile not turned": ("corner_turned", ("left[row][term_a]", "left[ty][tx]")),
    "one strip too few": ("coarsened", ("if (i < rows && j", "if (s < STRIP / 2 && i < rows && j")),
    "the strips of the wrong row": ("strips", ("loaded_row < rows", "loaded_row < rows - 1")),
    "right half twice": ("two_by_two", ("second = right[k][tx + HALF]", "second = right[k][tx]")),
    "a thread short": ("rectangular", ("if (tx < DEPTH)", "if (tx < DEPTH - 1)")),
    "next tile into the present buffer": (
        "register_tile", ("keep(left[buffer ^ 1]", "keep(left[buffer]"),
    ),
    "the first warp's terms forgotten": (
        "warps_terms", ("for (int warp = 0; warp < WARPS", "for (int warp = 1; warp < WARPS"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_texts_are_caught(name, opencl_device, tmp_path):
    rung, *changes = WRONG[name]
    wrong = changed(rung, *changes)
    # The single guard reads rows behind b's last: short ones, that a process may read.
    problem = Matmul(37, 71, 30 if changes[0] in SINGLE_GUARD else 300, True)
    assert verify(
        problem, strategy("matmul", rung, "opencl"), device=opencl_device, neighbours=False
    ).passed
    check_caught(wrong, problem, opencl_device, tmp_path, neighbours=False)


def test_the_single_guard_passes_where_tiles_divide_all(opencl_device):
    """So it must be neighbours that give it away."""
    wrong, problem = changed("tiled_any", *SINGLE_GUARD), Matmul(32, 48, 64)
    assert verify(problem, wrong, device=opencl_device, neighbours=False).passed
    assert not verify(problem, wrong, device=opencl_device).passed


def test_warps_share_the_terms_of_small_products():
    rung = strategy("matmul", "warps_terms", "cuda")
    assert [rung.defaults(Matmul(n, n, n))["WARPS"] for n in (64, 256, 320)] == [4, 8, 4]


@pytest.mark.parametrize("rung", GPU, ids=lambda rung: rung.name)
def test_compiles_without_spills(rung):
    sizes = (1024, 1024, 1024)
    check_compiles(rung, [Matmul(*sizes), Matmul(*sizes, True, True), Matmul(8, 9, 9)])


def _matrix(path):
    text = path.read_text(encoding="utf-8").split()
    shape = int(text[0]), int(text[1])
    return np.array(text[2:], np.float32).reshape(shape)


def _labs():
    if not _LABS.exists():
        reason = "no ../shared/course-labs beside the repository"
        return [pytest.param(None, marks=pytest.mark.skip(reason=reason))]
    return [pytest.param(case, id=case.name) for case in sorted(_LABS.iterdir())]


def check_lab(case, rung, place):
    """A course's case, with its own answer."""
    a, b = _matrix(case / "input0.raw"), _matrix(case / "input1.raw")
    expected = _matrix(case / "output.raw")
    problem = Matmul(*a.shape, b.shape[1])
    if rung.why_not(problem) is not None:
        return
    out = np.full(expected.shape, np.nan, np.float32)
    rung.bind(problem, (), place)(a, b, out)
    np.testing.assert_allclose(out, expected, rtol=2e-5)


@pytest.mark.parametrize("case", _labs())
def test_course_labs_on_the_cpu(case):
    for rung in CPU:
        check_lab(case, rung, cpu.open_device(2))


@pytest.mark.parametrize("case", _labs())
def test_course_labs_on_gpus(case, device):
    for rung in GPU:
        check_lab(case, rung, device)


def test_problems():
    problem = parse("matmul", "rows=3,inner=4,columns=5,transpose_b=1")
    assert problem == Matmul(3, 4, 5, False, True)
    assert [array.shape for array in problem.arrays] == [(3, 4), (5, 4), (3, 5)]
    assert Matmul(3, 4, 5, True).arrays[0].shape == (4, 3)
    assert problem.flops == 120
    assert problem.bytes == 4 * (12 + 20 + 15)
    assert Matmul(2**12, 7, 7).shrunk() == Matmul(64, 7, 7)
    assert "ties" not in problem.hard(0)
    float32 = [rung for rung in CPU if rung.name != "double"]
    larger = Matmul(9, 9, 9).neighbours()[-1]
    assert all(rung.why_not(larger) is None for rung in (*float32, GPU[2]))
    with pytest.raises(InputError, match="columns"):
        Matmul(1, 1, 0)
    with pytest.raises(InputError, match="transpose_a"):
        parse("matmul", "rows=3,inner=4,columns=5,transpose_a=yes")
    a, b = problem.random(0)
    assert np.allclose(problem.reference(a, b), a.astype(np.float64) @ b.T)
