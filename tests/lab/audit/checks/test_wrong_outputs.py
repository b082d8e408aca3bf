"""An audit names the outputs that are wrong, however each of them is judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from rooftile.lab.audit.checks.judge import wrong_in
from rooftile.lab.audit.checks.rounding import CLAIMS
from rooftile.lab.audit.process.session import Seen
from rooftile.ops.judgement import Exact, Normwise, Properties, Unordered
from rooftile.ops.problem import Array, Problem


def not_rising(*arrays):
    return "" if (np.diff(arrays[3]) >= 0).all() else "it does not rise"


JUDGEMENTS = {
    "same": Exact(),
    "shuffled": Unordered(),
    "near": Normwise(1e-3),
    "rising": Properties(not_rising),
}


@dataclass(frozen=True)
class Four(Problem):
    """The same numbers four times, each judged in another way."""

    operation: ClassVar[str] = "made_up_four"
    size: int

    @property
    def arrays(self):
        shape = (self.size,)
        return Array("x", shape), *(Array(name, shape, role="output") for name in JUDGEMENTS)

    @property
    def flops(self):
        return self.size

    def judgement(self, output, model):
        return JUDGEMENTS[output.name]

    def reference(self, x):
        return x, x, x.astype(np.float64), np.sort(x)


@pytest.mark.parametrize("name", [None, *JUDGEMENTS])
def test_only_what_is_wrong_is_named(name):
    problem = Four(40)
    (x,) = arrays = problem.random(0)
    outs = {"same": x, "shuffled": x[::-1].copy(), "near": x * np.float32(1 + 1e-6)}
    outs["rising"] = np.sort(x)
    if name is not None:
        outs[name] = outs[name].copy()
        outs[name][3] += 100
    made = tuple(outs.values())
    seen = Seen(made, tuple(np.zeros(out.shape, np.bool_) for out in made), True, ())
    found = wrong_in(problem, seen, arrays, CLAIMS["ieee"])
    assert [one.output.name for one in found] == ([name] if name else [])
    if name in ("same", "shuffled"):
        assert np.flatnonzero(found[0].elements).tolist() == [3]
