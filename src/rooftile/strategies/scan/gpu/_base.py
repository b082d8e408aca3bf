"""The base of the GPU strategies of `scan`."""

from __future__ import annotations

from typing import ClassVar

from rooftile.analysis.accesses import (
    WARP,
    Accesses,
    Counted,
    apart,
    beside,
    stored_apart,
    stored_beside,
)
from rooftile.analysis.cooperation import chain, in_turn, run_scan
from rooftile.devices.gpu import Launch
from rooftile.ops.features import features
from rooftile.ops.operator import SUM
from rooftile.ops.patterns.scan import Scan
from rooftile.strategies.common.grid import beyond_block, blocks, wide
from rooftile.strategies.common.operators import CARRIED_BYTES, operator_macros
from rooftile.strategies.contract.gpu import Config, GpuStrategy, Step, Tunable

MOST_BLOCKS = 2**31 - 1
"""Blocks of a grid in x."""
BLOCKS = Tunable("BLOCK", (64, 128, 256, 512, 1024), 256)
RUNS = Tunable("RUN", (4, 8, 16), 8)
"""Adjacent elements of a thread."""


class GpuScan(GpuStrategy):
    """A GPU strategy of `scan`."""

    operation = "scan"
    takes = features("axis dtype:* exclusive operator.commutative operator:* reverse")
    wide_indices = True

    def limits(self, problem: Scan) -> str | None:
        return self._too_many(problem, self.defaults(problem))

    def invalid(self, problem: Scan, config: Config) -> str | None:
        shared = self.shared_bytes(problem, config)
        return beyond_block(config["BLOCK"], shared) or self._too_many(problem, config)

    def shared_bytes(self, problem: Scan, config: Config) -> int:
        """Shared memory of a block."""
        return 0

    def blocks(self, problem: Scan, config: Config) -> int:
        """The most blocks of a launch."""
        return problem.lines

    def macros(self, problem: Scan, config: Config) -> dict[str, int | str]:
        macros = operator_macros(problem.operator, problem.dtype)
        compensated = problem.operator == SUM and macros["REAL"]
        flags = {"EXCLUSIVE": problem.exclusive, "REVERSE": problem.reverse}
        counts = {name: int(flag) for name, flag in flags.items()}
        return {**macros, **counts, "COMPENSATED": int(compensated), **config}

    def _too_many(self, problem: Scan, config: Config) -> str | None:
        count = self.blocks(problem, config)
        return f"{count} blocks, at most {MOST_BLOCKS}" if count > MOST_BLOCKS else None

    def copied(self, problem: Scan) -> Accesses:
        """Every element once, and its result, by threads that take neighbours of a line."""
        x, y = problem.arrays
        stride = problem.inner
        moved = apart(x.size, stride, x.numpy.itemsize)
        stored = stored_apart(y.size) if stride > 1 else stored_beside(y.size, y.numpy.itemsize)
        return moved + stored + chain(x.size, 0)


class LineScan(GpuScan):
    """A block a line, one kernel."""

    tunables = (BLOCKS,)

    def steps(self, problem: Scan, config: Config) -> tuple[Step, ...]:
        launch = Launch(self.kernel(), (problem.lines, 1, 1), (config["BLOCK"], 1, 1))
        return (Step(launch, ("x", "y", *wide(problem.count, problem.inner))),)

    def by_sections(self, problem: Scan, section: int, made: Accesses) -> Counted:
        """The accesses of blocks to the consecutive sections of a line."""
        inside = in_turn(made, blocks(problem.count, section))
        return {self.kernel(): self.copied(problem) + inside}


class SectionScan(GpuScan):
    """Sections of runs of elements, loaded to shared memory; sums of a line's parts between."""

    takes = features(
        "axis dtype:float64,int32,int64,uint8 exclusive operator.commutative operator:* reverse"
    )

    tunables: ClassVar[tuple[Tunable, ...]] = (BLOCKS, RUNS)

    def shared_bytes(self, problem: Scan, config: Config) -> int:
        """A section with a gap after each run, and the runs' ends."""
        return config["BLOCK"] * (config["RUN"] + 2) * itemsize(problem)

    def launch(self, kernel: str, grid: int, config: Config) -> Launch:
        """A kernel on ``grid`` blocks."""
        return Launch(kernel, (grid, 1, 1), (config["BLOCK"], 1, 1))

    def scanned(self, problem: Scan, config: Config, sections: int, turns: int = 1) -> Accesses:
        """``sections`` sections in shared memory, of which a block has ``turns`` one after
        another."""
        made = run_scan(config["BLOCK"], config["RUN"], sections, itemsize(problem) // 4)
        through = Accesses(shared_reads=sections * config["BLOCK"] * config["RUN"] / WARP)
        return in_turn(made + through, turns)

    def scanned_sums(self, problem: Scan, config: Config, parts: int) -> Accesses:
        """The sums of every line's parts, scanned by a block a line."""
        count, size = problem.lines * parts, itemsize(problem)
        turns = self.sections(parts, config)
        moved = beside(count, size) + stored_beside(count, size) + chain(count, 0)
        return moved + self.scanned(problem, config, problem.lines * turns, turns)

    def sections(self, count: int, config: Config) -> int:
        """Number of sections of ``count`` elements."""
        return blocks(count, config["BLOCK"] * config["RUN"])


def itemsize(problem: Scan) -> int:
    """Bytes of what is combined."""
    return CARRIED_BYTES[problem.carried]


def words(problem: Scan, count: int) -> int:
    """Words of four bytes of ``count`` combined elements."""
    return blocks(count * itemsize(problem), 4)
