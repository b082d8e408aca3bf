"""Every rung of `elementwise`: right on ordinary and hard inputs, with NumPy's bits."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooftile.devices import cpu
from rooftile.errors import InputError
from rooftile.lab.judge.verify import verify
from rooftile.ops import parse
from rooftile.ops.patterns.elementwise import Elementwise
from rooftile.ops.problem import numpy_dtype
from rooftile.strategies import ladder
from tests.support.every_rung import EveryRung, Wrong, changed

PROBLEMS = (
    Elementwise("add", (1,)),
    Elementwise("add", (70001,)),
    Elementwise("add", (33, 7), "float64"),
    Elementwise("add", (5, 1031), "int32"),
    Elementwise("add", (5, 1031), "int8"),
    Elementwise("add", (1031,), "uint64"),
    Elementwise("add", (1031,), "bool"),
    Elementwise("axpy", (4099,)),
    Elementwise("axpy", (3, 5, 7), "float64"),
    Elementwise("scale", (2050,)),
    Elementwise("scale", (1,), "float64"),
    Elementwise("add", (1031,), "float16"),
    Elementwise("axpy", (4099,), "bfloat16"),
    Elementwise("scale", (71,), "float16"),
)
CPU, GPU = ladder("elementwise"), ladder("elementwise", "opencl")
FUNCTIONS = st.sampled_from(
    [("add", "float32"), ("add", "int32"), ("axpy", "float32"), ("scale", "float64")]
)


class TestRungs(EveryRung):
    problems = PROBLEMS
    near = (Elementwise("axpy", (64,)),)
    configured = tuple(
        Elementwise(function, (10_007,), dtype)
        for function, dtype in (("add", "int32"), ("axpy", "float32"), ("scale", "float64"))
    )
    compiled = (*PROBLEMS[1:10], PROBLEMS[12])
    wrong = Wrong(
        Elementwise("add", (70_003,)),
        ("naive", "if (i < count)", "if (i < count - 1)"),
        ("adjacent", "first + e < count", "first + e + 1 < count"),
        ("block_strided", "first + e * BLOCK", "first + e"),
        ("grid_stride", "i += stride", "i += 2 * stride"),
        ("vectors", "blockIdx.x == gridDim.x - 1 &&", "0 &&"),
        ("vectors", "from_y[v] = ys[first + v * BLOCK]", "from_y[v] = ys[v * BLOCK]"),
    )


def takes(rung, problem):
    return rung.why_not(problem) is None


@settings(max_examples=25)
@given(kind=FUNCTIONS, count=st.integers(1, 40_000), seed=st.integers(0, 99))
def test_any_size_on_the_cpu(kind, count, seed):
    problem = Elementwise(kind[0], (count,), kind[1])
    for rung in CPU:
        if takes(rung, problem):
            verify(problem, rung, seed, neighbours=False).raise_if_wrong()


@settings(max_examples=15)
@given(offset=st.integers(0, 17), count=st.integers(1, 20_000), threads=st.integers(1, 3))
def test_streaming_stores_from_any_place(offset, count, threads, monkeypatch_module):
    """The first line's boundary lies anywhere, also behind the last element."""
    problem = Elementwise("axpy", (count,))
    x, y, alpha = problem.random(count)
    (rung,) = (rung for rung in CPU if rung.name == "vectors")
    held = np.full(count + 40, 7, np.float32)
    out = held[offset : offset + count]
    rung.bind(problem, (), cpu.open_device(threads))(x, y, alpha, out)
    assert (out == alpha[0] * x + y).all()
    assert (held[:offset] == 7).all()
    assert (held[offset + count :] == 7).all()


@pytest.fixture(scope="module")
def monkeypatch_module():
    """Every result outgrows the cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rooftile.strategies.elementwise.cpu.vectors.pays", lambda nbytes: True)
        yield


def results(rung, problem, where):
    given = problem.random(3)
    out = np.empty(problem.shape, numpy_dtype(problem.dtype))
    rung.bind(problem, (), where)(*given, out)
    return out, given


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_product_and_sum_are_rounded_apart(dtype, opencl_device, optimised):
    """The judge lets others fuse them; our rungs have NumPy's bits."""
    problem = Elementwise("axpy", (70_003,), dtype)
    for rung in (*CPU, *GPU):
        if takes(rung, problem):
            where = cpu.open_device() if rung in CPU else opencl_device
            out, (x, y, alpha) = results(rung, problem, where)
            assert (out == alpha * x + y).all(), rung.name


def test_a_fused_product_is_right_in_single_precision_alone(opencl_device, optimised):
    rung = changed(
        "elementwise", "naive", "combined(x[i], y[i], *alpha)", "fma(*alpha, x[i], y[i])"
    )
    problem = Elementwise("axpy", (70_003,))
    assert verify(problem, rung, device=opencl_device).passed
    out, (x, y, alpha) = results(rung, problem, opencl_device)
    assert (out != alpha * x + y).any()
    problem = Elementwise("axpy", (70_003,), "float64")
    assert not verify(problem, rung, device=opencl_device).passed
    wrong = changed(
        "elementwise", "naive", "combined(x[i], y[i], *alpha)", "1.00001f * *alpha * x[i] + y[i]"
    )
    assert not verify(Elementwise("axpy", (70_003,)), wrong, device=opencl_device).passed


def test_grids_cover_more_elements_than_32_bits_count():
    problem = Elementwise("add", (2**31 + 17,))
    for rung in GPU:
        config = rung.config(problem)
        (step,) = rung.steps(problem, config)
        if rung.name != "grid_stride":
            covered = step.launch.grid[0] * rung.of_block(problem, config)
            assert problem.count <= covered < problem.count + 2**14
        assert step.arguments[-1] == np.int64(problem.count)
        assert rung.wide_indices


def test_accesses_count_every_thread():
    problem = Elementwise("add", (2**14,))
    for rung in GPU:
        (counted,) = rung.accesses(problem, rung.config(problem)).values()
        assert counted.loads == 2 * 2**14
        assert counted.stores == 2**14
        spread = rung.config(problem)["ELEMENTS"] if rung.name == "adjacent" else 1
        assert counted.load_sectors == spread * 2 * 2**14 / 8
        assert counted.store_sectors == spread * 2**14 / 8


def _labs():
    found = os.environ.get("ROOFTILE_COURSE_LABS")
    return sorted((Path(found) / "vector_add").iterdir()) if found else []


@pytest.mark.parametrize("rung", [*CPU, *GPU], ids=lambda rung: f"{rung.devices[0]}-{rung.name}")
def test_the_course_lab(rung, opencl_device):
    """The cases of a course's first lab, where ROOFTILE_COURSE_LABS names their folder."""
    cases = _labs()
    if not cases:
        pytest.skip("ROOFTILE_COURSE_LABS names no folder with the course's labs")
    where = cpu.open_device() if rung in CPU else opencl_device
    for case in cases:
        x, y, expected = (
            np.loadtxt(case / f"{name}.raw", np.float32, skiprows=1)
            for name in ("input0", "input1", "output")
        )
        out = np.empty_like(x)
        rung.bind(Elementwise("add", x.shape), (), where)(x, y, out)
        np.testing.assert_allclose(out, expected, rtol=1e-6)


def test_problems():
    problem = parse("elementwise", "function=axpy,shape=3x4,dtype=float64")
    assert problem == Elementwise("axpy", (3, 4), "float64")
    assert [array.shape for array in problem.arrays] == [(3, 4), (3, 4), (1,), (3, 4)]
    assert problem.flops == 24
    assert problem.bytes == 3 * 96 + 8
    for wrong in ({"function": "divide"}, {"dtype": "int32"}, {"shape": (3, 0)}):
        with pytest.raises(InputError):
            Elementwise(**{"function": "axpy", "shape": (3,), **wrong})
    assert Elementwise("add", (2**28,)).shrunk() == Elementwise("add", (2**20,))
