"""The base of the GPU strategies of `sort`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rooftile.analysis.accesses import Accesses, beside, stored_apart, stored_beside
from rooftile.devices.gpu import TensorMap
from rooftile.ops.features import features
from rooftile.ops.patterns.sort import Sort
from rooftile.strategies.common.grid import beyond_block, blocks
from rooftile.strategies.common.sort_keys import key_macros
from rooftile.strategies.contract.gpu import Config, GpuStrategy, Tunable

BLOCKS = Tunable("BLOCK", (64, 128, 256, 512), 256)
MOST_BLOCKS = 2**31 - 1
"""Blocks of a grid in x."""
MOST_IN_LINE = 2**30
"""Elements of a line whose places 32 bits count, two of them left over for flags."""
Argument = str | TensorMap | int | np.number[Any]
"""A `Step`'s argument to its kernel."""


@dataclass(frozen=True)
class Ends:
    """A pass's source and destination: arrays of keys, and of values that move along."""

    keys: str
    along: str
    to_keys: str
    to_along: str
    first: int
    last: int

    @property
    def names(self) -> tuple[Argument, ...]:
        """As kernels take them."""
        return self.keys, self.along, self.to_keys, self.to_along


class GpuSort(GpuStrategy):
    """A GPU strategy of `sort`: passes from one array to another, the last one to the results."""

    operation = "sort"
    takes = features("axis descending dtype:* gives:pairs,places moves:float32")
    wide_indices = True

    def limits(self, problem: Sort) -> str | None:
        if problem.count >= MOST_IN_LINE:
            return f"{problem.count} elements in a line, less than {MOST_IN_LINE}"
        return self._too_many(problem, self.defaults(problem))

    def invalid(self, problem: Sort, config: Config) -> str | None:
        shared = self.shared_bytes(problem, config)
        return beyond_block(self.threads(config), shared) or self._too_many(problem, config)

    def threads(self, config: Config) -> int:
        return config["BLOCK"]

    def shared_bytes(self, problem: Sort, config: Config) -> int:
        """Shared memory of a block."""
        return 0

    def blocks(self, problem: Sort, config: Config) -> int:
        """The most blocks of a launch."""
        return problem.lines * blocks(problem.count, config["BLOCK"])

    def macros(self, problem: Sort, config: Config) -> dict[str, int | str]:
        return {**key_macros(problem), **config}

    def workspace(self, problem: Sort, config: Config) -> dict[str, int]:
        size = problem.lines * problem.count
        keys = blocks(size * problem.key_bytes, 4)
        if problem.gives == "values":
            return {"keys": keys}
        if problem.gives == "pairs":
            return {"keys": keys, "along": size}
        return {"keys": keys, "along": size, "more_keys": keys, "more_along": size}

    def moved(self, problem: Sort, times: int, scattered: bool = False) -> Accesses:
        """Keys and values read and written ``times`` times; lines may be strided."""
        size, count = problem.key_bytes, times * problem.lines * problem.count
        words = [size] if problem.gives == "values" else [size, 4]
        made = Accesses()
        for word in words:
            stored = stored_apart(count) if scattered else stored_beside(count, word)
            made += beside(count, word) + stored
        return made

    def _too_many(self, problem: Sort, config: Config) -> str | None:
        count = self.blocks(problem, config)
        return f"{count} blocks, at most {MOST_BLOCKS}" if count > MOST_BLOCKS else None


def ends_of(problem: Sort, passes: int) -> list[Ends]:
    """Source and destination of each of ``passes`` passes: from x to the results, each there and
    back."""
    own, results = ("keys", "along"), ("y", "moved")
    if problem.gives == "values":
        own, results = ("keys", "keys"), ("y", "y")
    if problem.gives == "places":
        results = ("more_keys", "more_along")
    here = ("x", "with_it" if problem.gives == "pairs" else "x")
    found = []
    for number in range(passes):
        last = number == passes - 1
        there = results if (passes - 1 - number) % 2 == 0 else own
        if last and problem.gives == "places":
            there = ("more_keys", "places")
        found.append(Ends(*here, *there, int(number == 0), int(last)))
        here = there
    return found
