"""Every rung of `histogram`: exact counts, whatever lies at the edges."""

from __future__ import annotations

from copy import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooftile.devices.cuda.compile import compile_cubin, cuda_core, specific
from rooftile.devices.cuda.cubin import resources
from rooftile.errors import DeviceMissing, InputError
from rooftile.lab.judge.verify import verify
from rooftile.ops import parse
from rooftile.ops.patterns.histogram import Histogram
from rooftile.strategies import ladder
from tests.support.every_rung import on

PROBLEMS = (
    Histogram(10_007),
    Histogram(5003, 100, -3.5, 300.0),
    Histogram(20_011, 256, 0.0, 1.0, "float32"),
    Histogram(3001, 100, 0.0, 100.0, "int32"),
    # Edges that float32 cannot tell apart.
    Histogram(3001, 77, 1e6, 1e6 + 1, "float32"),
    Histogram(2003, 33, 0.0, 10.0, "float32", edges=True),
    Histogram(4001, 33, -5.0, 5.0, "float32", weighted=True),
    Histogram(4001, 20_000, -5.0, 5.0, "float32"),
    Histogram(3001, 77, -3.5, 9.0, "float16"),
    Histogram(2003, 33, 0.0, 10.0, "int64", edges=True, edge_dtype="float64"),
)
MANY_BINS = Histogram(4001, 4096, -5.0, 5.0, "float32")
"""More than a block has threads, and no more than every device's shared memory holds."""
CPU, GPU = ladder("histogram"), ladder("histogram", "opencl")


@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
def test_right_on_the_cpu(problem):
    for rung in CPU:
        verify(problem, rung, hard=True).raise_if_wrong()


@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
def test_right_on_a_gpu(problem, device):
    for rung in GPU:
        if on(rung, device).why_not(problem) is None:
            verify(problem, rung, device=device, hard=True, neighbours=False).raise_if_wrong()


@settings(max_examples=60)
@given(
    count=st.integers(1, 400), bins=st.integers(1, 300), seed=st.integers(0, 99),
    dtype=st.sampled_from(["uint8", "int32", "float32"]), edges=st.booleans(),
    low=st.integers(-300, 300), width=st.floats(2.0**-10, 3000.0, width=32),
)  # fmt: skip
def test_any_range_on_the_cpu(count, bins, low, width, dtype, edges, seed):
    high = float(np.float32(low + width))
    problem = Histogram(count, bins, float(low), max(high, low + 0.001), "int32", edges)
    if dtype == "float32" and high > low:
        problem = Histogram(count, bins, float(low), high, dtype, edges)
    for rung in CPU:
        verify(problem, rung, seed, neighbours=False, hard=True).raise_if_wrong()


@settings(max_examples=8)
@given(
    count=st.integers(1, 3000), bins=st.integers(1, 500), seed=st.integers(0, 99),
    low=st.integers(-300, 300), width=st.floats(0.125, 3000.0, width=32),
)  # fmt: skip
def test_any_range_on_a_gpu(count, bins, low, width, seed, opencl_device):
    """Sizes and ranges come with the launch: nothing is compiled anew."""
    problem = Histogram(count, bins, float(low), float(np.float32(low + width)), "float32")
    for rung in GPU:
        run = verify(problem, rung, seed, device=opencl_device, neighbours=False, hard=True)
        run.raise_if_wrong()


@settings(max_examples=50)
@given(
    values=st.lists(st.floats(-10, 10, width=32), min_size=1, max_size=50),
    bins=st.integers(1, 40), low=st.floats(-10, 9, width=32), width=st.floats(0.5, 20, width=32),
)  # fmt: skip
def test_the_reference_counts_as_numpy(values, bins, low, width):
    high = float(np.float32(low + width))
    x = np.array(values, np.float32)
    found = Histogram(x.size, bins, low, high, "float32").reference(x)
    assert (found == np.histogram(x, bins, (np.float32(low), np.float32(high)))[0]).all()


def changed(name, before, after):
    """A rung with one thing changed in its text."""
    rung = copy(next(rung for rung in GPU if rung.name == name))
    assert before in rung.whole_text
    rung.text = rung.whole_text.replace(before, after)
    return rung


@pytest.mark.parametrize(
    ("problem", "name", "before", "after"),
    [
        # The course's text left bins beyond a block's threads alone.
        (
            Histogram(4001, 4096, -5.0, 5.0, "float32"),
            "privatised",
            "bin < bins; bin += BLOCK",
            "bin < bins; bin += bins",
        ),
        (PROBLEMS[0], "partial", "if (mine[bin] != 0) GROW", "if (mine[bin] > 1000) GROW"),
        (PROBLEMS[3], "hot", "if (owners[place] >= 0)", "if (owners[place] > 0)"),
        (PROBLEMS[0], "aggregated", "held);\n        // The", "0);\n        // The"),
        (PROBLEMS[2], "strided", "x >= least && x <= most", "x >= least && x < most"),
        (PROBLEMS[4], "strided", "if (close) {", "if (close && bin >= bins) {"),
        (PROBLEMS[5], "strided", "x <= edges[bins]", "x < edges[bins]"),
        (PROBLEMS[1], "lanes", "if (last < count) {", "if (0) {"),
    ],
    ids=lambda value: value if isinstance(value, str) and value.isalpha() else "",
)
def test_wrong_texts_are_caught(problem, name, before, after, opencl_device):
    wrong = changed(name, before, after)
    assert not verify(problem, wrong, device=opencl_device, hard=True).passed


@pytest.mark.parametrize("rung", ladder("histogram", "cuda"), ids=lambda rung: rung.name)
def test_compiles_without_spills(rung):
    try:
        cuda_core()
    except DeviceMissing as error:
        pytest.skip(str(error))
    for problem in PROBLEMS[:3]:
        macros = rung.macros(problem, rung.config(problem))
        code = compile_cubin(rung.text, macros, specific("sm_90"), rung.folders)
        assert all(kernel.frame_bytes == 0 for kernel in resources(code).values())


def test_problems():
    text = "count=9,bins=4,low=0.5,high=2.5,dtype=float32,weighted=1"
    problem = parse("histogram", text)
    assert problem == Histogram(9, 4, 0.5, 2.5, "float32", weighted=True)
    assert problem.bytes == 4 * 9 * 2 + 4 * 4
    assert Histogram(100).bytes == 100 + 256 * 8
    wrongs = ({"bins": 0}, {"count": 0}, {"low": 256.0}, {"high": np.inf}, {"dtype": "complex64"},
              {"low": 0.1, "dtype": "float32"}, {"bins": 2**23})  # fmt: skip
    for wrong in wrongs:
        with pytest.raises(InputError):
            Histogram(**{"count": 3, **wrong})
