"""`rows`: a thread a row."""

from __future__ import annotations

from made_up.problem import Agreeing
from rooftile.devices.gpu import Launch
from rooftile.strategies.contract.gpu import Config, GpuStrategy, Step, Tunable


class Rows(GpuStrategy):
    """Takes every problem."""

    operation = "made_up"
    name = "rows"
    summary = "a thread a row"
    tunables = (Tunable("BLOCK", (32, 64, 128), 64),)

    def steps(self, problem: Agreeing, config: Config) -> tuple[Step, ...]:
        """One kernel, whose arguments are named as the problem's arrays are."""
        block = config["BLOCK"]
        launch = Launch("agreeing", (-(-problem.height // block), 1, 1), (block, 1, 1))
        sizes = problem.height, problem.width
        return (Step(launch, ("rows", "numbers", "counts", *sizes)),)


STRATEGY = Rows()
