"""Rung 1, `loops`: one element after the other, on one thread."""

from __future__ import annotations

from collections.abc import Callable

from rooftile.ops import AnyArray
from rooftile.ops.partition import Partition
from rooftile.strategies import HostStrategy
from rooftile.strategies.partition.cpu.two_pass import in_parts


class Loops(HostStrategy):
    """Takes every problem."""

    operation = "partition"
    name = "loops"
    order = 1
    parallel = False
    summary = "one part, on one thread"

    def why_not(self, problem: Partition) -> str | None:
        """None: it takes everything."""
        return None

    def prepare(
        self, problem: Partition, parameters: tuple[AnyArray, ...], threads: int
    ) -> Callable[..., None]:
        """See `HostStrategy.prepare`."""
        return in_parts(problem, 1, 1)


STRATEGY = Loops()
