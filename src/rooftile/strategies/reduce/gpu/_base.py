"""What the GPU strategies of `reduce` share."""

from __future__ import annotations

import numpy as np

from rooftile.devices.gpu import Launch
from rooftile.ops.reduce import Reduce
from rooftile.strategies.gpu import Config, GpuStrategy, Step

FINISH_THREADS = 256
"""Threads of a block that adds the partial sums of a row."""
MOST_ROWS = 2**31 - 1


class GpuReduce(GpuStrategy):
    """A GPU strategy of `reduce`."""

    operation = "reduce"
    wide_indices = True

    def why_not(self, problem: Reduce) -> str | None:
        """More rows than a grid has blocks."""
        if problem.rows > MOST_ROWS:
            return f"{problem.rows} sums, at most {MOST_ROWS}"
        return None

    def macros(self, problem: Reduce, config: Config) -> dict[str, int | str]:
        """The dtype and the tunables."""
        return {"BYTES": int(problem.dtype == "uint8"), **config}


class SegmentedReduce(GpuReduce):
    """Segments of each row are summed first, then their sums."""

    def segments(self, problem: Reduce, config: Config) -> int:
        """Partial sums of a row."""
        raise NotImplementedError

    def macros(self, problem: Reduce, config: Config) -> dict[str, int | str]:
        """The dtype, the tunables, and the threads of the last kernel."""
        return {**super().macros(problem, config), "THREADS": FINISH_THREADS}

    def workspace(self, problem: Reduce, config: Config) -> dict[str, int]:
        """The partial sums, where there are several a row."""
        segments = self.segments(problem, config)
        words = problem.output_arrays[0].numpy.itemsize // 4
        return {"partials": words * problem.rows * segments} if segments > 1 else {}

    def both(self, problem: Reduce, config: Config, first: Launch) -> tuple[Step, ...]:
        """The kernel that sums segments, then the last one, unless a row has only one segment."""
        segments, numbers = self.segments(problem, config), _numbers(problem)
        if segments == 1:
            return (Step(first, ("x", "sums", *numbers)),)
        finish = Launch("finish", (problem.rows, 1, 1), (FINISH_THREADS, 1, 1))
        return (
            Step(first, ("x", "partials", *numbers)),
            Step(finish, ("partials", "sums", segments)),
        )


def _numbers(problem: Reduce) -> tuple[int, np.int64]:
    """Rows and columns as the kernels take them."""
    return problem.rows, np.int64(problem.columns)


def plain(problem: Reduce, launch: Launch) -> tuple[Step, ...]:
    """One kernel that makes the result."""
    return (Step(launch, ("x", "sums", *_numbers(problem))),)
