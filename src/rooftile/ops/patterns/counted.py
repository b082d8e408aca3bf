"""Problems that give an array's elements in another order, or some of them."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Self

from rooftile.ops.problem import Problem

_SHRUNK = 2**20


@dataclass(frozen=True)
class Counted(Problem):
    """A problem of x[count]."""

    count: int

    def shrunk(self) -> Self:
        return dataclasses.replace(self, count=min(self.count, _SHRUNK))

    def neighbours(self) -> tuple[Self, ...]:
        return tuple(dataclasses.replace(self, count=count) for count in (10_007, 131, 4097))

    def smallest(self) -> tuple[Self, ...]:
        return (dataclasses.replace(self, count=1),)
