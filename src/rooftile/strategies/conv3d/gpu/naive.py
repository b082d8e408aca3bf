"""`naive`: a thread a sum. Source: PMPP, section 7.2."""

from __future__ import annotations

from collections.abc import Mapping

from rooftile.devices.gpu import Launch
from rooftile.ops import AnyArray
from rooftile.ops.features import features
from rooftile.ops.patterns.conv3d import Conv3d
from rooftile.strategies.common.volumes import PlainStrategy
from rooftile.strategies.contract.gpu import Config, Fill, Step, Tunable


class Naive(PlainStrategy):
    """Takes every problem."""

    operation = "conv3d"
    name = "naive"
    summary = "a thread a sum"
    takes = features("boundary:valid form:batch")
    reads_weights = True
    tunables = (
        Tunable("BLOCK_Z", (1, 2, 4, 8), 2),
        Tunable("BLOCK_Y", (2, 4, 8), 4),
        Tunable("BLOCK_X", (8, 16, 32), 32),
    )

    def limits(self, problem: Conv3d) -> str | None:
        return self.invalid(problem, self.defaults(problem))

    def constants(self, problem: Conv3d, config: Config) -> dict[str, Fill]:
        return {}

    def packed(
        self, problem: Conv3d, parameters: Mapping[str, AnyArray], config: Config
    ) -> dict[str, AnyArray]:
        return dict(parameters)

    def steps(self, problem: Conv3d, config: Config) -> tuple[Step, ...]:
        block = (config["BLOCK_X"], config["BLOCK_Y"], config["BLOCK_Z"])
        launch = Launch(self.kernel(), (self.grid(problem, config), 1, 1), block)
        return (Step(launch, ("x", "weights", "out", 1)),)


STRATEGY = Naive()
