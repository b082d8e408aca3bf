"""Other libraries compute what `conv1d` and `separable` mean, whatever lies beyond the ends."""

from __future__ import annotations

import importlib.util

import pytest

from rooftile.lab.judge.exam import Exam
from rooftile.lab.measure.peers.cpu import PEERS
from rooftile.ops.boundary import BOUNDARIES
from rooftile.ops.patterns.conv1d import Conv1d
from rooftile.ops.patterns.separable import AROUND, Separable

BY_NAME = {peer.name: peer for peer in PEERS}
SIGNALS = [
    Conv1d(100, mask, boundary, *more)
    for mask in (1, 4, 5, 63)
    for boundary in BOUNDARIES
    for more in ((), (2, 3, 2, 3))
]
SHORT = [Conv1d(5, 9, boundary) for boundary in BOUNDARIES if boundary != "valid"]
IMAGES = [Separable(30, 40, (4, 5), boundary) for boundary in AROUND]
IMAGES += [Separable(30, 40, (5, 3), boundary, 2, 3) for boundary in AROUND]


def check(name, problem):
    exam = Exam(problem, seed=2)
    exam.examine(BY_NAME[name].bind(problem, exam.parameters), "ieee").raise_if_wrong()


@pytest.mark.parametrize("problem", [*SIGNALS, *SHORT], ids=str)
def test_numpy(problem):
    check("numpy", problem)


@pytest.mark.skipif(not importlib.util.find_spec("torch"), reason="PyTorch is not installed")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("problem", [*SIGNALS, *SHORT, *IMAGES], ids=str)
def test_torch(problem):
    check("torch eager", problem)


def test_numpy_has_no_separable_filter():
    assert "separable" in BY_NAME["numpy"].why_not(IMAGES[0])
