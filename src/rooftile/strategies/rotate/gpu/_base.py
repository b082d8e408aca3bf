"""What the GPU strategies of `rotate` share."""

from __future__ import annotations

from rooftile.ops.rotate import Rotate
from rooftile.strategies.gpu import Config, GpuStrategy


class GpuRotate(GpuStrategy):
    """A GPU strategy of `rotate`."""

    operation = "rotate"
    wide_indices = True

    def macros(self, problem: Rotate, config: Config) -> dict[str, int | str]:
        """Bytes of an element and the tunables."""
        return {"BYTES": problem.itemsize, **config}
