"""`running`: sums that move on by a row that enters and one that leaves. Source: McDonnell,
"Box-Filtering Techniques", Computer Graphics and Image Processing 17 (1981)."""

from __future__ import annotations

import math

from rooftile.analysis.accesses import Accesses
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.box_blur import BoxBlur
from rooftile.strategies.box_blur.gpu._accesses import of_spans
from rooftile.strategies.box_blur.gpu.tiles import GpuBoxBlur
from rooftile.strategies.common.grid import MOST_BLOCKS, blocks
from rooftile.strategies.contract.gpu import Config, Step, Tunable

_MOST_REACH = 64
"""Bytes on either side whose sums a thread holds."""
_WORD = 4
_MOST_WORDS = 2
"""Words of a row that a thread takes, where all rows begin at multiples of that number."""
_HALF = 2**16
_MOST_INDEX = 2**30
_RESIDENT = 14
"""Blocks that a multiprocessor has room for, by their registers, with some left over."""
_LEAST_ROWS, _MOST_ROWS = 8, 256
"""A band of fewer rows reads more above it than it makes; one of more leaves nothing to balance."""


class Running(GpuBoxBlur):
    """Takes windows that reach up to 64 bytes to either side."""

    name = "running"
    summary = "sums that move on by a row, two bands in a word where 16 bits hold them"
    transforms = True
    tunables = (
        Tunable("THREADS", (64, 128, 256), 64),
        Tunable("ROWS", (16, 32, 64, 128, 256), 64),
    )

    def limits(self, problem: BoxBlur) -> str | None:
        return self.invalid(problem, self.defaults(problem))

    def invalid(self, problem: BoxBlur, config: Config) -> str | None:
        reach = problem.radius * problem.channels
        if reach > _MOST_REACH:
            return f"a window reaches {reach} bytes to either side, at most {_MOST_REACH}"
        if max(problem.height, problem.columns) > _MOST_INDEX:
            return f"{problem.height} rows of {problem.columns} bytes: their indices are 32-bit"
        bands = blocks(problem.height, _bands(problem) * config["ROWS"])
        return f"{bands} blocks of rows, at most {MOST_BLOCKS}" if bands > MOST_BLOCKS else None

    def defaults(self, problem: BoxBlur) -> dict[str, int]:
        """Bands so high that all blocks are resident at once, where they need not be too high. A
        window that reaches too far, which `invalid` refuses, leaves a block no bytes to make."""
        config = super().defaults(problem)
        strips = blocks(problem.columns, max(1, _outputs(problem, config)))
        blocks_of_rows = max(1, _RESIDENT * self.machine.multiprocessors // strips)
        rows = blocks(problem.height, _bands(problem) * blocks_of_rows)
        return {**config, "ROWS": max(_LEAST_ROWS, min(rows, _MOST_ROWS))}

    def macros(self, problem: BoxBlur, config: Config) -> dict[str, int | str]:
        layout = {"ALIGNED": int(problem.columns % _WORD == 0), "WORDS": _words(problem)}
        return {**super().macros(problem, config), **layout, "PAIRED": _paired(problem)}

    def steps(self, problem: BoxBlur, config: Config) -> tuple[Step, ...]:
        rows = blocks(problem.height, _bands(problem) * config["ROWS"])
        grid = (blocks(problem.columns, _outputs(problem, config)), rows, 1)
        launch = Launch(self.kernel(), grid, (config["THREADS"], 1, 1))
        return (Step(launch, ("image", "blurred", problem.height, problem.width)),)

    def accesses(self, problem: BoxBlur, config: Config) -> dict[str, Accesses]:
        """A row that enters and one that leaves, and the sums of neighbours."""
        (step,), span = self.steps(problem, config), _WORD * _words(problem)
        threads = math.prod(step.launch.grid) * config["THREADS"]
        rows = _bands(problem) * (problem.window + 1 + 2 * config["ROWS"])
        halo = blocks(problem.radius * problem.channels, span) * span
        vectors = config["ROWS"] * (2 * halo + span) / 4
        return {self.kernel(): of_spans(problem, threads * rows, span, 0, threads * vectors)}


def _paired(problem: BoxBlur) -> int:
    """1 if 16 bits hold the sum of a window."""
    return int(255 * problem.window**2 < _HALF)


def _bands(problem: BoxBlur) -> int:
    return 1 + _paired(problem)


def _words(problem: BoxBlur) -> int:
    """Words of a row that a thread takes."""
    return _MOST_WORDS if problem.columns % (_MOST_WORDS * _WORD) == 0 else 1


def _outputs(problem: BoxBlur, config: Config) -> int:
    """Bytes of a row that a block makes."""
    span = _WORD * _words(problem)
    halo = blocks(problem.radius * problem.channels, span) * span
    return span * config["THREADS"] - 2 * halo


STRATEGY = Running()
