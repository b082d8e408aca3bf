"""No false alarm: every honest kernel on every shape; a hundred runs and more by `make honest`."""

from __future__ import annotations

import os
import shutil

import pytest

from .verdicts import HONEST, SHAPE

SHAPES = (
    (SHAPE, 6),
    ("channels=1,height=11,width=13,maps=2,mask=5x5,pool=max:2,activation=relu", 5),
    ("channels=3,height=15,width=14,maps=2,mask=3x2,stride=2x1,padding=2x1", 4),
    ("channels=5,height=9,width=31,maps=7,mask=1x1", 1),
)
SEEDS = int(os.environ.get("ROOFTILE_HONEST_SEEDS", "1"))
MANY = SEEDS > 1
ONCE = {"honest_ctypes": 0, "honest_double": 2, "honest_numba": 1, "honest_torch": 1}
"""Those of which one shape must do, and which: their compilers or libraries take seconds."""


def met(number: int, name: str, shape: int) -> bool:
    """Whether a kernel is judged at a shape: at two of the four each, and each shape by two kernels
    or more; at all of them by `make honest`."""
    if name in ONCE:
        return shape == ONCE[name] and (MANY or name != "honest_torch")
    return MANY or number % 2 == shape % 2


RUNS = [
    (name, shape, seed)
    for seed in range(SEEDS)
    for shape in range(len(SHAPES))
    for number, name in enumerate((*HONEST, "honest_torch"))
    if met(number, name, shape)
]


@pytest.mark.parametrize(("name", "shape", "seed"), RUNS)
def test_an_honest_kernel_passes(judge, name, shape, seed):
    if name == "honest_torch":
        pytest.importorskip("torch")
    if name == "honest_ctypes" and shutil.which("cc") is None:
        pytest.skip("there is no compiler of C")
    # Compilers take their time where tests keep every core busy.
    limits = {"limit_s": 120.0, "allow_library": name == "honest_torch"}
    found = judge(name, *SHAPES[shape], seed=seed, **limits)
    assert found.passed, [check for check in found.checks if check.status == "failed"]
    assert found.time_ms.median > 0
    assert found.error.budget_fraction <= 1
