"""Every rung of `transpose`: each element in its place, as it was."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooftile.devices import cpu
from rooftile.errors import InputError, UnsupportedProblem
from rooftile.lab.judge.verify import verify
from rooftile.ops import parse
from rooftile.ops.patterns.transpose import Transpose
from rooftile.strategies import ladder, strategy
from tests.support.every_rung import EveryRung, Wrong

PROBLEMS = (
    Transpose((1, 1)),
    Transpose((128, 128)),
    Transpose((100, 36)),
    Transpose((33, 65)),
    Transpose((2, 130, 130), (0, 2, 1), "uint8"),
    Transpose((136, 72), dtype="float16"),
    Transpose((40, 40), dtype="bfloat16"),
    Transpose((264, 136), dtype="uint8"),
    Transpose((34, 66), dtype="float64"),
    Transpose((3, 4, 5, 6), (0, 2, 3, 1)),
    Transpose((3, 4, 5, 6), (2, 0, 3, 1), "float16"),
    Transpose((5, 7, 3), (1, 0, 2)),
    Transpose((917,)),
)
CPU, GPU = ladder("transpose"), ladder("transpose", "opencl")


class TestRungs(EveryRung):
    problems = PROBLEMS
    near = (Transpose((64, 64)),)
    configured = (
        Transpose((2, 61, 61), (0, 2, 1)),
        Transpose((620, 204)),
        Transpose((264, 520), dtype="uint8"),
    )
    compiled = tuple(
        Transpose((64, 64), dtype=dtype) for dtype in ("float32", "float16", "uint8", "float64")
    )
    wrong = Wrong(
        Transpose((2, 136, 136), (0, 2, 1), "float16"),
        ("naive", "y[near] = x[far];", "y[near] = x[near];"),
        ("naive_reads", "i >= third ||", "i >= third - 1 ||"),
        ("padded", "tile[across][down];", "tile[down][across];"),
        ("tiled", "down < wide && across < high) to", "down < wide && across < high - 1) to"),
        ("vectors", "0x7632", "0x5410"),
        ("vectors", "MIXED(down, across)]", "down]"),
        ("in_place", "top < left &&", "0 &&"),
        ("in_place", "= lower[across][down]", "= lower[down][across]"),
    )


def taken(rungs, problem):
    return [rung for rung in rungs if rung.why_not(problem) is None]


@settings(max_examples=20)
@given(
    batch=st.integers(1, 3), rows=st.integers(1, 150), columns=st.integers(1, 150),
    dtype=st.sampled_from(["float32", "float16", "uint8", "float64"]), seed=st.integers(0, 99),
)  # fmt: skip
def test_any_matrices_on_the_cpu(batch, rows, columns, dtype, seed):
    problem = Transpose((batch, rows, columns), (0, 2, 1), dtype)
    for rung in taken(CPU, problem):
        verify(problem, rung, seed, neighbours=False).raise_if_wrong()


@settings(max_examples=25, deadline=None)
@given(
    batch=st.integers(1, 3), rows=st.integers(1, 40), columns=st.integers(1, 40),
    dtype=st.sampled_from(["float32", "float16", "uint8", "float64"]),
)  # fmt: skip
def test_any_squares_of_vectors_on_opencl(batch, rows, columns, dtype, opencl_device):
    side = {"float32": 4, "float16": 8, "uint8": 8, "float64": 2}[dtype]
    problem = Transpose((batch, side * rows, side * columns), (0, 2, 1), dtype)
    (rung,) = (rung for rung in GPU if rung.name == "vectors")
    verify(problem, rung, device=opencl_device, neighbours=False).raise_if_wrong()


@pytest.mark.parametrize(
    ("shape", "dtype", "chosen"),
    [
        ((16384, 16384), "float32", (16, 16, 1024)),
        ((60000, 1000), "float16", (16, 16, 1)),  # rows of x begin inside a line
        ((60000, 1024), "float16", (16, 16, 1024)),
        ((20000, 3000), "float32", (16, 16, 1024)),  # many tiles beside each other
        ((10000, 10000), "uint8", (32, 16, 1024)),  # rows of the result begin inside a sector
        ((1000, 60000), "uint8", (32, 16, 1024)),
        ((16384, 16384), "uint8", (16, 32, 1024)),
        ((60000, 1000), "uint8", (16, 32, 1)),
        ((3000, 3000), "uint8", (16, 16, 1024)),  # larger tiles would leave processors idle
        ((40, 10**6), "uint8", (16, 16, 1024)),  # and here be empty for the most part
        ((10**6, 64), "uint8", (16, 16, 1)),
    ],
)
def test_the_shape_chooses_tiles_and_their_order(shape, dtype, chosen):
    vectors, problem = strategy("transpose", "vectors", "cuda"), Transpose(shape, dtype=dtype)
    assert tuple(vectors.config(problem).values()) == chosen


def test_tiles_that_a_block_does_not_hold():
    vectors, problem = strategy("transpose", "vectors", "cuda"), Transpose((264, 264))
    assert vectors.invalid(problem, vectors.config(problem)) is None
    half = Transpose((264, 264), dtype="float16")
    larger = vectors.config(half, {"SQUARES_DOWN": 32})
    assert "65,536 bytes of shared memory" in vectors.invalid(half, larger)
    small = vectors.on(replace(vectors.machine, block_threads=256))
    assert "512 threads" in small.invalid(problem, vectors.config(problem, {"SQUARES_DOWN": 32}))


@pytest.mark.parametrize("axes", list(itertools.permutations(range(4))), ids=str)
def test_any_permutation(axes, opencl_device):
    problem = Transpose((3, 2, 5, 4), axes)
    for rung in taken(CPU, problem):
        verify(problem, rung, neighbours=False).raise_if_wrong()
    for rung in taken(GPU, problem):
        verify(problem, rung, device=opencl_device, neighbours=False).raise_if_wrong()


@settings(max_examples=60)
@given(data=st.data())
def test_merged_axes_are_the_same_permutation(data):
    shape = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=6))
    axes = data.draw(st.permutations(range(len(shape))))
    problem = Transpose(tuple(shape), tuple(axes))
    x = np.arange(problem.count)
    merged, order = problem.merged
    assert (x.reshape(shape).transpose(axes).ravel() == x.reshape(merged).transpose(order).ravel()
    ).all()  # fmt: skip
    assert 1 not in merged
    assert all(order[i + 1] != order[i] + 1 for i in range(len(order) - 1))


@settings(max_examples=15)
@given(
    offset=st.integers(0, 17), rows=st.integers(1, 9),
    columns=st.integers(2, 70) | st.sampled_from([16, 48, 64]), into=st.integers(0, 17),
)  # fmt: skip
def test_streaming_stores_from_any_place(offset, rows, columns, into, streaming):
    problem = Transpose((16 * rows, columns))
    x = np.empty(problem.count + into, np.float32)[into:].reshape(problem.shape)
    x[:] = problem.random(offset)[0]
    (rung,) = (rung for rung in CPU if rung.name == "vectors")
    held = np.full(problem.count + 40, 7, np.float32)
    y = held[offset : offset + problem.count].reshape(columns, 16 * rows)
    rung.bind(problem, (), cpu.open_device(2))(x, y)
    assert (y == x.T).all()
    assert (held[:offset] == 7).all()
    assert (held[offset + problem.count :] == 7).all()


@pytest.fixture(scope="module")
def streaming():
    """Every result outgrows the cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rooftile.strategies.transpose.cpu.vectors.pays", lambda nbytes: True)
        yield


def test_more_elements_than_32_bits_count():
    problem = Transpose((2**16, 2**15 + 8), dtype="uint8")
    for rung in GPU:
        assert rung.wide_indices
        if rung.why_not(problem) is None:
            (step,) = rung.steps(problem, rung.config(problem))
            assert step.launch.grid[0] < 2**31
    assert Transpose((2**31 + 17,)).count == 2**31 + 17


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "float64"])
def test_accesses(dtype):
    problem = Transpose((64, 96), dtype=dtype)
    counted = {
        rung.name: next(iter(rung.accesses(problem, rung.config(problem)).values())) for rung in GPU
    }
    size = problem.itemsize
    sectors, apart = problem.count * size / 32, 32 // size
    for name, one in counted.items():
        assert one.loads == one.stores == problem.count, name
        assert one.load_sectors == (apart if name == "naive" else 1) * sectors
        assert one.store_sectors == (apart if name == "naive_reads" else 1) * sectors
    if dtype == "float32":
        assert counted["tiled"].shared_reads == 32 * counted["padded"].shared_reads
    assert counted["tiled"].shared_reads > counted["padded"].shared_reads
    assert counted["vectors"].shared_reads == problem.count * size / 128


def test_problems():
    problem = parse("transpose", "shape=3x4x5,axes=0x2x1,dtype=uint8")
    assert problem == Transpose((3, 4, 5), (0, 2, 1), "uint8")
    assert problem.output_arrays[0].shape == (3, 5, 4)
    assert problem.matrices == (3, 4, 5)
    assert Transpose((3, 4)) == Transpose((3, 4), (1, 0))
    assert Transpose((2, 3, 4, 5), (0, 2, 3, 1)).matrices == (2, 3, 20)
    assert Transpose((2, 3, 4), (2, 1, 0)).matrices is None
    for wrong in ({"axes": (0, 0)}, {"axes": (0,)}, {"dtype": "complex64"}, {"shape": (3, 0)}):
        with pytest.raises(InputError):
            Transpose(**{"shape": (3, 4), **wrong})
    with pytest.raises(UnsupportedProblem, match="5 axes"):
        verify(Transpose((2, 2, 2, 2, 2)), CPU[0])
