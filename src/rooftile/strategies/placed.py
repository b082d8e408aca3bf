"""A GPU strategy with its parameters, whose calls may each bring memory of their own.

Calls on several streams, or in graphs that replay beside them, must not meet in one workspace.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rooftile.ops import AnyArray
from rooftile.strategies.base import Config
from rooftile.strategies.compiled import GpuBound
from rooftile.strategies.gpu import GpuStrategy


class PlacedBound(GpuBound):
    """See `GpuBound`; `launch_in` works in arrays of the caller's instead of the bound's."""

    def temporaries(self, batch: int) -> dict[str, int]:
        """Bytes of each array that a launch for so many items writes before it reads it.

        What the preparation brings into the workspace is none of them: it stays.
        """
        strategy: GpuStrategy = self._compiled.strategy
        preparation = strategy.preparation(self._compiled.problem, self._compiled.config)
        prepared = {argument for step in preparation for argument in step.arguments}
        counts = self._compiled.workspace(batch)
        return {name: 4 * count for name, count in counts.items() if name not in prepared}

    def launch_in(self, arrays: Sequence[Any], batch: int, workspace: Mapping[str, Any]) -> None:
        """See `Bound.launch`; ``workspace`` holds device memory by the names of `temporaries`."""
        ends = dict(zip(self._ends, arrays, strict=True))
        self._compiled.launch({**self._arrays, **ends, **workspace}, batch)


def bind_placed(
    strategy: GpuStrategy,
    problem: Any,
    parameters: Sequence[AnyArray],
    device: Any,
    config: Config | None = None,
) -> PlacedBound:
    """See `GpuStrategy.bind`."""
    return PlacedBound(strategy.compile(problem, device, config), parameters)
