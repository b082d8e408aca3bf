"""The one change after which a kernel that keeps results is wrong."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rooftile.lab.audit.checks.trials import changed_inputs
from rooftile.ops.problem import Array, Problem


@dataclass(frozen=True)
class SumsOfRuns(Problem):
    """The sums of the values between offsets, which rise from 0 to the number of values."""

    operation: ClassVar[str] = "made_up_runs"
    values: int
    runs: int

    @property
    def arrays(self):
        return (
            Array("x", (self.values,)),
            Array("offsets", (self.runs + 1,), "int32"),
            Array("sums", (self.runs,), role="output"),
        )

    @property
    def flops(self):
        return self.values

    def random(self, seed):
        generator = np.random.default_rng(seed)
        inner = np.sort(generator.integers(0, self.values + 1, self.runs - 1))
        offsets = np.concatenate([[0], inner, [self.values]]).astype(np.int32)
        return generator.standard_normal(self.values, np.float32), offsets

    def altered(self, arrays, which, seed):
        if which == 0:
            return super().altered(arrays, which, seed)
        x, offsets = arrays
        generator = np.random.default_rng(seed)
        changed, place = offsets.copy(), int(generator.integers(1, self.runs))
        changed[place] = generator.integers(offsets[place - 1], offsets[place + 1] + 1)
        return x, changed

    def reference(self, x, offsets):
        assert (np.diff(offsets) >= 0).all(), "offsets must rise"
        assert (offsets[0], offsets[-1]) == (0, len(x))
        pairs = itertools.pairwise(offsets)
        return np.array([x[a:b].sum(dtype=np.float64) for a, b in pairs])


def test_what_belongs_together_is_changed_as_the_problem_allows():
    problem, generator = SumsOfRuns(200, 5), np.random.default_rng(0)
    for seed in range(20):
        arrays = problem.random(seed)
        for which in range(2):
            made = changed_inputs(problem, arrays, which, generator)
            assert made is not None
            assert int((made[which] != arrays[which]).sum()) == 1
            assert made[1 - which] is arrays[1 - which]
