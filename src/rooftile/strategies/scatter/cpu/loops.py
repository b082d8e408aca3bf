"""`loops`: one value after the other, on one thread."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rooftile.analysis.accesses import Counted
from rooftile.analysis.cooperation import through
from rooftile.devices import cpu
from rooftile.devices.cpu.native import source
from rooftile.ops import AnyArray
from rooftile.ops.features import features
from rooftile.ops.patterns.scatter import Scatter
from rooftile.strategies import HostStrategy

_UPDATES = {
    "add": "np.add(before, values[i])",
    "subtract": "np.subtract(before, values[i])",
    "increment": "np.add(before, ONE)",
    "decrement": "np.subtract(before, ONE)",
    "min": "np.minimum(before, values[i])",
    "max": "np.maximum(before, values[i])",
    "exchange": "values[i]",
    "multiply": "np.multiply(before, values[i])",
}
_TEXT = """
def kernel(x, index, VALUES y, sizes, begin, end):
    for place in range(sizes[1]):
        y[place] = x[place]
    for i in range(sizes[0]):
        before = y[index[i]]
        y[index[i]] = UPDATE
"""


class Loops(HostStrategy):
    """Takes every problem."""

    operation = "scatter"
    name = "loops"
    parallel = False
    summary = "one value after the other, on one thread"
    takes = features(
        "dtype:* function:decrement,exchange,increment,max,min,multiply,subtract index:int64"
    )

    def prepare(
        self, problem: Scatter, parameters: tuple[AnyArray, ...], threads: int
    ) -> Callable[..., None]:
        one = f"np.{problem.dtype}(1.0)" if problem.dtype.startswith("float") else "1"
        text = _TEXT.replace("UPDATE", _UPDATES[problem.function]).replace("ONE", one)
        text = text.replace("VALUES", "values," if problem.has_values else "")
        run = cpu.Spread(source("scatter_loops", text), [a.dtype for a in problem.arrays])
        sizes = np.array((problem.count, problem.places), np.int64)

        def call(*arrays: AnyArray) -> None:
            run(arrays, sizes, 1, 1)

        return call

    def accesses(self, problem: Scatter) -> Counted:
        """Every place is copied; values meet theirs one after another."""
        count, given = problem.count, 3 if problem.has_values else 2
        return {
            "copy": through(problem.places, problem.places, 0, 0),
            "updates": through(given * count, count, count, max(1.0, count / problem.places)),
        }


STRATEGY = Loops()
