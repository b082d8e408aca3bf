"""The base of the GPU strategies of `box_blur`."""

from __future__ import annotations

import numpy as np

from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.box_blur import BoxBlur
from rooftile.strategies.contract.gpu import Config, GpuStrategy, Step


class GpuBoxBlur(GpuStrategy):
    """A GPU strategy of `box_blur`: one kernel of its name."""

    operation = "box_blur"
    wide_indices = True

    def macros(self, problem: BoxBlur, config: Config) -> dict[str, int | str]:
        return {"RADIUS": problem.radius, "CHANNELS": problem.channels, **config}

    def one(self, problem: BoxBlur, launch: Launch) -> tuple[Step, ...]:
        """The launch of the kernel."""
        sizes = np.int64(problem.height), np.int64(problem.width)
        return (Step(launch, ("image", "blurred", *sizes)),)
