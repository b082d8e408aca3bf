"""Rung 1, `sequential`: one thread, one element after the other."""

from __future__ import annotations

import numpy as np

from rooftile.devices.gpu import Launch
from rooftile.ops.compact import Compact
from rooftile.strategies.compact.gpu._base import GpuCompact
from rooftile.strategies.gpu import Config, Step


class Sequential(GpuCompact):
    """Takes every problem."""

    name = "sequential"
    order = 1
    summary = "one thread, one element after the other"

    def steps(self, problem: Compact, config: Config) -> tuple[Step, ...]:
        """One kernel."""
        launch = Launch("sequential", (1, 1, 1), (1, 1, 1))
        return (Step(launch, ("x", "mask", "y", "kept", np.int64(problem.count))),)


STRATEGY = Sequential()
