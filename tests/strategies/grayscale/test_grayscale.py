"""Every rung of `grayscale`: the same bytes everywhere."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooftile.errors import InputError
from rooftile.lab.judge.verify import verify
from rooftile.ops import parse
from rooftile.ops.patterns.grayscale import ONE, Grayscale, fixed
from rooftile.strategies import ladder
from tests.support.every_rung import EveryRung, Wrong, changed

PROBLEMS = (
    Grayscale(1, 1),
    Grayscale(3, 5),
    Grayscale(64, 256),
    Grayscale(37, 101, (ONE, 0, 0)),
    Grayscale(129, 33, (0, 0, 0)),
)
CPU, GPU = ladder("grayscale"), ladder("grayscale", "opencl")


class TestRungs(EveryRung):
    problems = PROBLEMS
    near = PROBLEMS[2:]
    configured = (Grayscale(61, 103),)
    compiled = PROBLEMS[2:3]
    wrong = Wrong(
        Grayscale(37, 101),
        ("naive", "image[3 * i + 1], image[3 * i + 2]", "image[3 * i + 2], image[3 * i + 1]"),
        ("naive", "weighed(image", "255 < 1 + weighed(image"),
        ("vectors", "four(a.w, b.x, b.y", "four(a.w, b.y, b.x"),
        ("vectors", "threadIdx.x < RUN && last", "0 && last"),
    )


@settings(max_examples=20)
@given(
    height=st.integers(1, 30), width=st.integers(1, 200), seed=st.integers(0, 99),
    parts=st.lists(st.integers(0, 1000), min_size=4, max_size=4).filter(any),
)  # fmt: skip
def test_any_picture_and_weights(height, width, seed, parts, opencl_device):
    weights = fixed([part / sum(parts) for part in parts[:3]])
    problem = Grayscale(height, width, weights)
    for rung in CPU:
        verify(problem, rung, seed, neighbours=False).raise_if_wrong()
    for rung in GPU:
        verify(problem, rung, seed, device=opencl_device, neighbours=False).raise_if_wrong()


@settings(max_examples=100)
@given(colours=st.tuples(*[st.integers(0, 255)] * 3))
def test_the_reference_rounds_halves_up(colours):
    """Exact fractions of the weights as they were rounded, and close to those that were given."""
    problem = Grayscale(1, 1)
    gray = int(problem.reference(np.array(colours, np.uint8).reshape(1, 1, 3))[0, 0])
    total = sum(Fraction(w, ONE) * c for w, c in zip(problem.weights, colours, strict=True))
    assert gray == int(total + Fraction(1, 2))
    given = sum(w * c for w, c in zip((0.21, 0.72, 0.07), colours, strict=True))
    assert abs(given - float(total)) < 0.01


def test_white_stays_white():
    for weights in ((13763, 47186, 4588), (ONE, 1, 1), (ONE, 0, 0)):
        problem = Grayscale(1, 20, weights)
        white = np.full((1, 20, 3), 255, np.uint8)
        assert (problem.reference(white) == 255).all()


def test_truncation_is_caught(opencl_device):
    """Weights of one half each, whose sums of odd colours end in one half."""
    cut = "(image[3 * i] * red + image[3 * i + 1] * green + image[3 * i + 2] * blue) >> 16"
    whole = "weighed(image[3 * i], image[3 * i + 1], image[3 * i + 2], red, green, blue)"
    wrong = changed("grayscale", "naive", whole, cut)
    problem = Grayscale(37, 101, (ONE // 2, ONE // 2, 0))
    assert not verify(problem, wrong, device=opencl_device).passed


def test_problems():
    problem = parse("grayscale", "height=3,width=4,weights=65536x0x0")
    assert problem == Grayscale(3, 4, (ONE, 0, 0))
    assert problem.bytes == 4 * 12
    assert fixed((1, 0, 0)) == (ONE, 0, 0)
    assert fixed([1 / 3] * 3) == (21845,) * 3
    for wrong in ((1, 2), (0.5, 0.5, 0.5), (-0.1, 0.5, 0.5), "rgb", 3, (np.nan, 0, 0)):
        with pytest.raises(InputError, match="weights"):
            fixed(wrong)
    for wrong in ({"height": 0}, {"weights": (ONE, ONE, 0)}, {"weights": (1, 2)}):
        with pytest.raises(InputError):
            Grayscale(**{"height": 3, "width": 4, **wrong})
