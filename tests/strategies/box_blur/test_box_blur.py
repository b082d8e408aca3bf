"""Every rung of `box_blur`: the same bytes everywhere."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooftile.devices import cpu
from rooftile.errors import InputError
from rooftile.lab.judge.verify import verify
from rooftile.ops import parse
from rooftile.ops.patterns.box_blur import BoxBlur
from rooftile.strategies import ladder, strategy
from tests.support.every_rung import EveryRung, Wrong

PROBLEMS = (
    BoxBlur(1, 1, 0),
    BoxBlur(3, 5, 2),
    BoxBlur(130, 600, 5),
    BoxBlur(67, 131, 7, 3),
    BoxBlur(67, 132, 8),
    BoxBlur(75, 64, 5),
    BoxBlur(40, 48, 7),
    BoxBlur(33, 32, 5, 3),
    BoxBlur(20, 30, 21, 3),
    BoxBlur(9, 8, 100),
)
CPU, GPU = ladder("box_blur"), ladder("box_blur", "opencl")


class TestRungs(EveryRung):
    problems = PROBLEMS
    near = (BoxBlur(67, 131, 7, 3), BoxBlur(40, 48, 7), BoxBlur(9, 8, 100))
    configured = (BoxBlur(150, 203, 2), BoxBlur(100, 160, 2))
    compiled = PROBLEMS[2:8]
    wrong = Wrong(
        BoxBlur(130, 320, 5),
        ("naive", "i <= bottom", "i < bottom"),
        ("tiled", "image[row * columns + at] : 0", "image[row * columns + at] : 1"),
        ("running", "- term(leaving, k)", "- 0"),
        ("running", "at + SPAN - 1 + REACH < columns", "at < columns"),
        ("running", "- REACH - CHANNELS]", "- REACH]"),
        ("packed", "- even(leaving[w])", "- 0"),
        ("packed", "- REACH - CHANNELS)", "- REACH)"),
        ("packed", "if (at + SPAN == columns)", "if (0)"),
        ("packed", "if (clipped(row, height) != rows)", "if (!rows)"),
    )


def taken(rungs, problem):
    return [rung for rung in rungs if rung.why_not(problem) is None]


@settings(max_examples=20)
@given(
    height=st.integers(1, 90), width=st.integers(1, 90), radius=st.integers(0, 24),
    channels=st.sampled_from([1, 3]), seed=st.integers(0, 99),
)  # fmt: skip
def test_any_picture_on_the_cpu(height, width, radius, channels, seed):
    problem = BoxBlur(height, width, radius, channels)
    for rung in taken(CPU, problem):
        verify(problem, rung, seed, neighbours=False).raise_if_wrong()


@settings(max_examples=12, deadline=None)
@given(
    height=st.integers(1, 150), width=st.integers(1, 300), radius=st.sampled_from([2, 9]),
    channels=st.sampled_from([1, 3]), seed=st.integers(0, 99),
)  # fmt: skip
def test_any_picture_by_running_sums(height, width, radius, channels, seed, opencl_device):
    """Each radius is compiled a few times only."""
    problem = BoxBlur(height, width, radius, channels)
    (rung,) = (rung for rung in GPU if rung.name == "running")
    verify(problem, rung, seed, device=opencl_device, neighbours=False).raise_if_wrong()


@settings(max_examples=12, deadline=None)
@given(
    height=st.integers(1, 120), spans=st.integers(1, 40), radius=st.sampled_from([2, 5]),
    channels=st.sampled_from([1, 3]), seed=st.integers(0, 99),
)  # fmt: skip
def test_any_picture_by_packed_sums(height, spans, radius, channels, seed, opencl_device):
    problem = BoxBlur(height, 16 * spans, radius, channels)
    (rung,) = (rung for rung in GPU if rung.name == "packed")
    verify(problem, rung, seed, device=opencl_device, neighbours=False).raise_if_wrong()


@settings(max_examples=20)
@given(
    height=st.integers(1, 12), width=st.integers(1, 12), radius=st.integers(0, 14),
    channels=st.sampled_from([1, 3]),
)  # fmt: skip
def test_the_reference_is_the_definition(height, width, radius, channels):
    problem = BoxBlur(height, width, radius, channels)
    (image,) = problem.random(height)
    made = problem.reference(image)
    operations = 0
    for i in range(height):
        for j in range(width):
            window = image[max(0, i - radius) : i + radius + 1, max(0, j - radius) : j + radius + 1]
            pixels = window.reshape(window.shape[0] * window.shape[1], -1).astype(int)
            assert (made[i, j] == pixels.sum(0) // len(pixels)).all()
            operations += pixels.size
    assert problem.flops == operations


@pytest.mark.parametrize("radius", range(8))
def test_quotients_of_all_sums_by_multiplication(radius):
    """What sums are multiplied with instead of dividing."""
    whole = (2 * radius + 1) ** 2
    sums = np.arange(255 * whole + 1, dtype=np.uint64)
    for shift in (24, 48):
        scale = np.uint64(-(-(1 << shift) // whole))
        assert ((sums * scale) >> np.uint64(shift) == sums // np.uint64(whole)).all()
    assert int(sums[-1]) * -(-(1 << 24) // whole) < 2**32


@pytest.mark.parametrize("radius", range(8))
def test_quotients_of_clipped_windows_by_floats(radius):
    """What `packed` multiplies with where columns are clipped."""
    one = np.float32(1)
    for rows in range(radius + 1, 2 * radius + 2):
        for columns in range(radius + 1, 2 * radius + 1):
            sums = np.arange(255 * rows * columns + 1)
            inverse = one / np.float32(rows) * (one / np.float32(columns))
            made = (sums.astype(np.float32) + np.float32(0.5)) * inverse
            assert made.dtype == np.float32
            assert (made.astype(int) == sums // (rows * columns)).all()


def test_white_stays_white():
    image = np.full((40, 50), 255, np.uint8)
    for radius in (1, 5, 7, 8, 60, 500):
        problem = BoxBlur(40, 50, radius)
        for rung in taken(CPU, problem):
            blurred = np.zeros_like(image)
            rung.bind(problem, (), cpu.open_device())(image, blurred)
            assert (blurred == 255).all()


def test_what_rungs_refuse():
    (running,) = (rung for rung in GPU if rung.name == "running")
    assert "reaches 65 bytes" in running.why_not(BoxBlur(9, 9, 65))
    assert "32-bit" in running.why_not(BoxBlur(2**30 + 1, 1, 1))
    assert running.config(BoxBlur(8192, 8192, 5))["ROWS"] == 38
    assert running.config(BoxBlur(64, 64, 5))["ROWS"] == 8
    assert running.config(BoxBlur(2**20, 8192, 5))["ROWS"] == 256
    (packed,) = (rung for rung in GPU if rung.name == "packed")
    assert packed.config(BoxBlur(8192, 8192, 5))["ROWS"] == 125
    assert packed.config(BoxBlur(4096, 4096, 5, 3))["SPAN"] == 16
    assert "16 bits" in packed.why_not(BoxBlur(64, 64, 8))
    assert "reaches 21 bytes" in packed.why_not(BoxBlur(64, 64, 7, 3))
    assert "whole spans" in packed.why_not(BoxBlur(64, 72, 5))
    mma = strategy("box_blur", "mma", "cuda")
    assert mma.config(BoxBlur(8192, 8192, 5))["ROWS"] == 256
    assert mma.config(BoxBlur(64, 64, 5))["ROWS"] == 64
    assert "16 bits" in mma.why_not(BoxBlur(64, 64, 8))
    assert "reaches 9 bytes" in mma.why_not(BoxBlur(64, 64, 3, 3))
    assert "whole pieces" in mma.why_not(BoxBlur(64, 72, 5))
    assert "shared memory" in mma.invalid(
        BoxBlur(64, 64, 5), mma.config(BoxBlur(64, 64, 5), {"WARPS": 64})
    )
    assert "16 keep their sums" in mma.invalid(
        BoxBlur(64, 64, 5), mma.config(BoxBlur(64, 64, 5), {"RESIDENT_WARPS": 20})
    )
    (on_cpu,) = (rung for rung in CPU if rung.name == "running")
    assert on_cpu.why_not(BoxBlur(9, 9, 500)) is None
    assert "exact" in on_cpu.why_not(BoxBlur(9, 9, 520))
    (vectors,) = (rung for rung in CPU if rung.name == "vectors")
    assert "16 bits" in vectors.why_not(BoxBlur(64, 64, 8))
    assert "a window has 15" in vectors.why_not(BoxBlur(64, 14, 7))


def test_problems():
    problem = parse("box_blur", "height=3,width=4,radius=1,channels=3")
    assert problem == BoxBlur(3, 4, 1, 3)
    assert problem.bytes == 2 * 36
    assert BoxBlur(3, 4, 0).flops == 12
    for wrong in ({"height": 0}, {"radius": -1}, {"radius": 1001}, {"channels": 2}):
        with pytest.raises(InputError):
            BoxBlur(**{"height": 3, "width": 4, "radius": 1, **wrong})


@pytest.mark.parametrize(
    ("size", "radius"),
    [((97, 13), 125), ((1, 13, 3), 125), ((31, 129, 3), 125), ((8, 8), 125), ((31, 2, 3), 125)],
)
def test_windows_far_larger_than_the_image(size, radius, opencl_device):
    """No rung that is asked for such a problem divides by the bytes that its blocks make."""
    height, width, *channels = size
    problem = BoxBlur(height, width, radius, *channels)
    for rung in ladder("box_blur", "cuda"):
        assert rung.why_not(problem) is None or rung.defaults(problem)
    (naive,) = (rung for rung in GPU if rung.name == "naive")
    assert verify(problem, naive, device=opencl_device, neighbours=False).passed
