"""Rungs of one kernel: a thread for each part of a problem, or a team of threads for each row."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

from rooftile.devices.gpu import Launch
from rooftile.strategies.common.grid import beyond_block, blocks, tile_of
from rooftile.strategies.contract.gpu import Config, GpuStrategy, Step, Tunable

_BLOCK = 256
"""Threads of a block where its rows are short."""
_THREAD_ELEMENTS = 4
"""Elements of a row that a thread takes, where there are enough."""


class OneKernel(GpuStrategy):
    """One kernel, BLOCK threads a block, one for each part of the problem."""

    @abstractmethod
    def threads(self, problem: Any) -> int:
        """Parts of the problem."""

    @abstractmethod
    def arguments(self, problem: Any) -> tuple[str | int, ...]:
        """The kernel's arguments: arrays and numbers."""

    def steps(self, problem: Any, config: Config) -> tuple[Step, ...]:
        grid = (blocks(self.threads(problem), config["BLOCK"]), 1, 1)
        return (self.step(problem, grid, (config["BLOCK"], 1, 1)),)

    def step(self, problem: Any, grid: tuple[int, int, int], block: tuple[int, int, int]) -> Step:
        """The launch."""
        return Step(Launch(self.kernel(), grid, block), self.arguments(problem))


class OverRows(OneKernel):
    """Rows of a matrix, each by itself: a thread a row."""

    name = "naive"
    summary = "one thread a row"
    tunables: ClassVar[tuple[Tunable, ...]] = (Tunable("BLOCK", (32, 64, 128, 256), 64),)

    @abstractmethod
    def shape(self, problem: Any) -> tuple[int, int]:
        """Rows, and elements of each."""

    def threads(self, problem: Any) -> int:
        return self.shape(problem)[0]


class RowTeams(OverRows):
    """A team of threads a row; short rows share a block.  Comes before the class of an operation.

    Sums are the same in every run.
    """

    name = "block_rows"
    summary = "a team of threads a row, maximum and sum joined by trees"
    tunables: ClassVar[tuple[Tunable, ...]] = (
        Tunable("TEAM", (2, 8, 32, 128, 512), 32),
        Tunable("TEAMS", (1, 2, 8, 32), 1),
    )
    team: ClassVar[tuple[str, str]] = ("TEAM", "TEAMS")
    """The tunables that say how many threads a team has, and how many teams a block."""

    def defaults(self, problem: Any) -> dict[str, int]:
        """As many threads as a row occupies, as many rows as a block does."""
        threads = tile_of(blocks(self.shape(problem)[1], _THREAD_ELEMENTS), 2, 512)
        return dict(zip(self.team, (threads, min(64, max(1, _BLOCK // threads))), strict=True))

    def invalid(self, problem: Any, config: Config) -> str | None:
        return beyond_block(config[self.team[0]] * config[self.team[1]])

    def steps(self, problem: Any, config: Config) -> tuple[Step, ...]:
        threads, teams = (config[name] for name in self.team)
        grid = (blocks(self.shape(problem)[0], teams), 1, 1)
        return (self.step(problem, grid, (threads, teams, 1)),)
