"""One element after the other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rooftile.analysis.accesses import Counted
from rooftile.analysis.cooperation import through
from rooftile.devices import cpu
from rooftile.devices.cpu.native import source, values_of
from rooftile.ops import AnyArray
from rooftile.ops.features import features
from rooftile.ops.patterns.argreduce import Argreduce
from rooftile.strategies import HostStrategy
from rooftile.strategies.common.operators import (
    array_in_kernel_language,
    number_in_kernel_language,
)

_BETTER = """
def better(a, b):
    # NaN is before every number; of equal values neither is before the other.
    return a {sign} b or (a != a and b == b)


def extreme(a, b):
    return np.{function}(a, b)
"""
_WORDS = {"max": (">", "maximum"), "min": ("<", "minimum")}


def searching(
    stem: str, text: str, problem: Argreduce, dtypes: tuple[str, ...], **words: object
) -> cpu.Spread:
    """The kernel of a text that knows `better` and `extreme`, IDENTITY, CARRIED and the words.

    ``dtypes`` are the kernel's arrays'; numbers of 16 bits come as float32.
    """
    carried = problem.carried
    identity = problem.selecting.identity_in(carried)
    known = {
        "IDENTITY": number_in_kernel_language(identity, carried),
        "CARRIED": array_in_kernel_language(carried),
        **words,
    }
    for word, value in known.items():
        text = text.replace(word, str(value))
    sign, function = _WORDS[problem.operator]
    made = source(stem, _BETTER.format(sign=sign, function=function) + text)
    return cpu.Spread(made, [values_of(dtype) for dtype in dtypes])


_TEXT = """
def kernel(x, places, sizes, begin, end):
    columns, inner = sizes[0], sizes[1]
    for unit in range(begin, end):
        at = unit // inner * columns * inner + unit % inner
        best = x[at]
        place = 0
        for j in range(1, columns):
            value = x[at + j * inner]
            if better(value, best):
                best = value
                place = j
        places[unit] = place
"""


class Loops(HostStrategy):
    """Takes every problem."""

    operation = "argreduce"
    name = "loops"
    parallel = False
    summary = "one element after the other, on one thread"
    takes = features("axis dtype:* operator:min")

    def units(self, problem: Argreduce) -> int:
        return problem.rows

    def prepare(
        self, problem: Argreduce, parameters: tuple[AnyArray, ...], threads: int
    ) -> Callable[..., None]:
        run = searching("argreduce_loops", _TEXT, problem, (problem.dtype, "int64"))
        sizes = np.array((problem.columns, problem.inner), np.int64)

        def call(x: AnyArray, places: AnyArray) -> None:
            run((x, places), sizes, problem.rows, 1)

        return call

    def accesses(self, problem: Argreduce) -> Counted:
        """Each result's elements one after another."""
        count = problem.rows * problem.columns
        return {"elements in order": through(count, problem.rows, count, problem.columns)}


STRATEGIES = (Loops(),)
