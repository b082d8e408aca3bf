"""Every rung of `equalize`: byte for byte by the rule, and each case of the course's lab."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rooftile
from rooftile.devices import cpu
from rooftile.errors import InputError
from rooftile.lab.judge.verify import verify
from rooftile.ops import parse
from rooftile.ops.patterns.equalize import Equalize, gray_levels, table_of
from rooftile.strategies import ladder
from tests.support.every_rung import EveryRung, Wrong, changed
from tests.support.labs import cases_of

COLOURS = Equalize(67, 131)
CPU, GPU = ladder("equalize"), ladder("equalize", "opencl")


class TestRungs(EveryRung):
    problems = (Equalize(1, 1), Equalize(33, 65, 1), COLOURS)
    near = (Equalize(16, 32),)
    configured = (COLOURS,)
    compiled = (COLOURS,)
    wrong = Wrong(
        COLOURS,
        ("naive", "PLUS(TIMES(255.0, sum), 0.5)", "TIMES(255.0, sum)"),
        ("naive", "255 * above", "254 * above"),
        ("privatised", "ADD_LONG(counts + level, own[level])", "ADD_LONG(counts + level, 1)"),
        ("vectors", "if (last < bytes)", "if (0)"),
        ("vectors", "LEVEL(run.of + CHANNELS * k)", "LEVEL(run.of)"),
    )


@pytest.mark.parametrize("name", ["privatised", "vectors"])
def test_halves_that_are_rounded_up_are_caught(name, opencl_device):
    """The table of ties matters: of the sums half-way between two levels some go down."""
    wrong = changed("equalize", name, "level -= ties", "level -= 0 & ties")
    assert not verify(COLOURS, wrong, device=opencl_device, hard=True).passed


def test_the_table():
    counts = np.zeros(256, np.int64)
    counts[[10, 20, 30]] = 2, 1, 1
    table = table_of(counts)
    assert (table[[0, 9, 10, 19, 20, 30, 255]] == [0, 0, 0, 0, 127, 255, 255]).all()
    counts[[20, 30]] = 0
    assert (table_of(counts) == np.arange(256)).all()


def test_gray_levels_are_rounded_as_float64_has_it():
    """Exact halves go either way, as the products and their sums happen to be rounded."""
    some, all_ = np.arange(0, 256, 5, dtype=np.uint8), np.arange(256, dtype=np.uint8)
    every = np.stack(np.meshgrid(some, all_, all_), -1).reshape(-1, 3)
    hundredths = every @ np.array([21, 71, 7]) + 50
    levels = gray_levels(every)
    halves = hundredths % 100 == 0
    assert (levels[~halves] == hundredths[~halves] // 100).all()
    down = hundredths[halves] // 100 - levels[halves]
    assert set(down) == {0, 1}
    white = np.full((1, 1, 3), 255, np.uint8)
    assert gray_levels(white)[0, 0] == 252


@settings(max_examples=10)
@given(
    height=st.integers(1, 40), width=st.integers(1, 70), channels=st.sampled_from([1, 3]),
    seed=st.integers(0, 99),
)  # fmt: skip
def test_any_size_on_the_cpu(height, width, channels, seed):
    problem = Equalize(height, width, channels)
    for rung in CPU:
        verify(problem, rung, seed, neighbours=False, hard=True).raise_if_wrong()


def picture(path):
    """The pixels of a binary PPM with one comment line."""
    kind, comment, sizes, most, pixels = path.read_bytes().split(b"\n", 4)
    assert (kind, comment[:1], most) == (b"P6", b"#", b"255")
    width, height = map(int, sizes.split())
    count = 3 * height * width
    return np.frombuffer(pixels[:count], np.uint8).reshape(height, width, 3)


def course():
    """Input and expected output of each case of the course's lab."""
    for case in cases_of("histogram_equalization"):
        yield picture(case / "input.ppm"), picture(case / "output.ppm")


@pytest.mark.parametrize("rung", CPU, ids=lambda rung: rung.name)
def test_the_course_lab_on_the_cpu(rung):
    check_course(rung, cpu.open_device(2))


@pytest.mark.parametrize("rung", GPU, ids=lambda rung: rung.name)
def test_the_course_lab_on_every_device(rung, device):
    check_course(rung, device)


def check_course(rung, device):
    """Byte for byte."""
    for image, expected in course():
        y = np.empty_like(image)
        rung.bind(Equalize(*image.shape[:2]), (), device)(image, y)
        assert (y == expected).all()


def test_the_function():
    (image,) = COLOURS.random(3)
    out = np.empty_like(image)
    assert rooftile.equalize(image, out=out) is out
    assert (out == COLOURS.reference(image)).all()
    gray = np.ascontiguousarray(image[..., 0])
    assert (rooftile.equalize(gray) == Equalize(67, 131, 1).reference(gray)).all()
    for wrong in (image.astype(np.int32), image[..., :2], image[0, :, 0], image[:0]):
        with pytest.raises(InputError, match="image"):
            rooftile.equalize(wrong)


def test_problems():
    assert parse("equalize", "height=3,width=4,channels=1") == Equalize(3, 4, 1)
    assert Equalize(3, 4).bytes == 2 * 36
    for wrong in ({"height": 0}, {"channels": 2}):
        with pytest.raises(InputError):
            Equalize(**{"height": 3, "width": 3, **wrong})
