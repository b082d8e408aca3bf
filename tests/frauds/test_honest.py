"""No false alarm: every honest kernel on every shape; a hundred runs and more by `make honest`."""

from __future__ import annotations

import os

import pytest
from verdicts import HONEST, SHAPE

SHAPES = (
    (SHAPE, 6),
    ("channels=1,height=11,width=13,maps=2,mask=5x5,pool=max:2,activation=relu", 5),
    ("channels=3,height=15,width=14,maps=2,mask=3x2,stride=2x1,padding=2x1", 4),
    ("channels=5,height=9,width=31,maps=7,mask=1x1", 1),
)
SEEDS = int(os.environ.get("ROOFTILE_HONEST_SEEDS", "1"))
RUNS = [
    (name, shape, seed)
    for seed in range(SEEDS)
    for shape in range(len(SHAPES))
    for name in HONEST
    # A compiled kernel takes seconds to compile in each process: one run must do.
    if name != "honest_numba" or (seed, shape) == (0, 1)
]


@pytest.mark.parametrize(("name", "shape", "seed"), RUNS)
def test_an_honest_kernel_passes(judge, name, shape, seed):
    found = judge(name, *SHAPES[shape], seed=seed)
    assert found.passed, [check for check in found.checks if check.status == "failed"]
    assert found.time_ms.median > 0
    assert found.error.budget_fraction <= 1
