"""`packed`: two columns' sums in a word, and no thread that waits for another. Source: McDonnell,
"Box-Filtering Techniques", Computer Graphics and Image Processing 17 (1981); Warren, "Hacker's
Delight", 2nd ed., sections 2-18 (sums of parts of a word) and 10-9 (division)."""

from __future__ import annotations

import math

from rooftile.analysis.accesses import Accesses
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.box_blur import BoxBlur
from rooftile.strategies.box_blur.gpu._accesses import of_spans
from rooftile.strategies.box_blur.gpu.tiles import GpuBoxBlur
from rooftile.strategies.common.grid import MOST_BLOCKS, blocks
from rooftile.strategies.contract.gpu import Config, Step, Tunable

_MOST_REACH = 16
"""Bytes on either side that a thread keeps sums of."""
_PIECE = 16
"""Bytes of a row that are loaded and stored at a time."""
_HALF = 2**16
_MOST_INDEX = 2**30
_RESIDENT_BYTES = 4096
"""Bytes of rows that a multiprocessor makes at a time: with more, what leaves the sums is
no longer in the second cache when it is read again (50.6 us instead of 55.2 on an H200, 8192^2)."""
_LEAST_ROWS, _MOST_ROWS = 8, 256
"""A band of fewer rows reads more above it than it makes; one of more leaves nothing to balance."""


class Packed(GpuBoxBlur):
    """Takes windows of up to 65535 in all, in rows of whole pieces."""

    name = "packed"
    summary = "two columns in a word, with what is around each thread's span in its registers"
    transforms = True
    tunables = (
        Tunable("THREADS", (32, 64, 128, 256), 64),
        Tunable("SPAN", (16, 32), 32),
        Tunable("ROWS", (16, 32, 64, 128, 256), 32),
        Tunable("AHEAD", (0, 2, 4, 8), 4),
    )

    def limits(self, problem: BoxBlur) -> str | None:
        return self.invalid(problem, self.defaults(problem))

    def invalid(self, problem: BoxBlur, config: Config) -> str | None:
        if 255 * problem.window**2 >= _HALF:
            return f"radius {problem.radius}: 16 bits do not hold a window's sum"
        reach = problem.radius * problem.channels
        if reach > _MOST_REACH:
            return f"a window reaches {reach} bytes to either side, at most {_MOST_REACH}"
        if problem.columns % config["SPAN"]:
            return f"rows of {problem.columns} bytes are no whole spans of {config['SPAN']}"
        if problem.width < problem.window:
            return f"{problem.width} columns, a window has {problem.window}"
        if max(problem.height, problem.columns) > _MOST_INDEX:
            return f"{problem.height} rows of {problem.columns} bytes: their indices are 32-bit"
        bands = blocks(problem.height, config["ROWS"])
        return f"{bands} bands, at most {MOST_BLOCKS}" if bands > MOST_BLOCKS else None

    def defaults(self, problem: BoxBlur) -> dict[str, int]:
        """Spans that rows are whole of; bands as high as so few blocks at once make them."""
        config = super().defaults(problem)
        if problem.columns % config["SPAN"] or problem.radius * problem.channels > _PIECE // 2:
            config["SPAN"] = _PIECE
        strip = config["SPAN"] * config["THREADS"]
        resident = _RESIDENT_BYTES // strip * self.machine.multiprocessors
        bands = max(1, resident // self._across(problem, config))
        rows = blocks(problem.height, bands)
        return {**config, "ROWS": max(_LEAST_ROWS, min(rows, _MOST_ROWS))}

    def steps(self, problem: BoxBlur, config: Config) -> tuple[Step, ...]:
        grid = (self._across(problem, config), blocks(problem.height, config["ROWS"]), 1)
        launch = Launch(self.kernel(), grid, (config["THREADS"], 1, 1))
        return (Step(launch, ("image", "blurred", problem.height, problem.width)),)

    def _across(self, problem: BoxBlur, config: Config) -> int:
        """Blocks that make a row."""
        return blocks(problem.columns, config["SPAN"] * config["THREADS"])

    def accesses(self, problem: BoxBlur, config: Config) -> dict[str, Accesses]:
        """A row that enters and one that leaves, each with what is around a thread's span."""
        (step,), span = self.steps(problem, config), config["SPAN"]
        threads = math.prod(step.launch.grid) * config["THREADS"]
        rows = problem.window + 2 * config["ROWS"]
        halo = _MOST_REACH if problem.radius * problem.channels > _PIECE // 2 else _PIECE // 2
        return {self.kernel(): of_spans(problem, threads * rows, span, halo, 0)}


STRATEGY = Packed()
