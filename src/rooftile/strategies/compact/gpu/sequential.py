"""`sequential`: one thread, one element after the other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rooftile.analysis.accesses import Counted, scattered_loads, stored_apart
from rooftile.analysis.cooperation import chain
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.compact import Compact
from rooftile.strategies.compact.gpu._base import GpuCompact
from rooftile.strategies.contract.gpu import Config, Step


class Sequential(GpuCompact):
    """Takes every problem."""

    name = "sequential"
    summary = "one thread, one element after the other"

    def steps(self, problem: Compact, config: Config) -> tuple[Step, ...]:
        launch = Launch(self.kernel(), (1, 1, 1), (1, 1, 1))
        return (Step(launch, ("x", "mask", "y", "kept", np.int64(problem.count))),)

    def accesses(self, problem: Compact, config: Config) -> Counted:
        """One thread: each load is a request of its own.  All elements are kept, at most."""
        made = scattered_loads(2 * problem.count) + stored_apart(problem.count + 1)
        requests = replace(made, load_requests=made.loads)
        return {self.kernel(): requests + chain(problem.count, problem.count)}


STRATEGY = Sequential()
