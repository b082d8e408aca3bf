"""Rung 1, `loops`: one element after the other, on one thread."""

from __future__ import annotations

from collections.abc import Callable

from rooftile.ops import AnyArray
from rooftile.ops.unique import Unique
from rooftile.strategies import HostStrategy
from rooftile.strategies.unique.cpu.two_pass import in_parts


class Loops(HostStrategy):
    """Takes every problem."""

    operation = "unique"
    name = "loops"
    order = 1
    parallel = False
    summary = "one part, on one thread"

    def why_not(self, problem: Unique) -> str | None:
        """None: it takes everything."""
        return None

    def prepare(
        self, problem: Unique, parameters: tuple[AnyArray, ...], threads: int
    ) -> Callable[..., None]:
        """See `HostStrategy.prepare`."""
        return in_parts(problem, 1, 1)


STRATEGY = Loops()
