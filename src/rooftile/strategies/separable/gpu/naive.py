"""`naive`: a pass down and a pass across, the sums between them in device memory. Source: PMPP,
section 7.2, for one axis at a time."""

from __future__ import annotations

from rooftile.analysis.accesses import Accesses
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.separable import Separable
from rooftile.strategies.common.grid import MOST_BLOCKS, blocks
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.separable.gpu._accesses import pass_across, pass_down
from rooftile.strategies.separable.gpu._base import GpuSeparable, numbers


class Naive(GpuSeparable):
    """Takes every image that indices reach."""

    name = "naive"
    summary = "a pass down, then a pass across, through device memory"
    tunables = (Tunable("BLOCK", (64, 128, 256, 512), 256),)

    def workspace(self, problem: Separable, config: Config) -> dict[str, int]:
        return {"sums": problem.batch * problem.output_size[0] * _wide(problem)}

    def steps(self, problem: Separable, config: Config) -> tuple[Step, ...]:
        (rows, columns), block = problem.output_size, config["BLOCK"]

        def launch(kernel: str, width: int) -> Launch:
            grid = (blocks(width, block), min(rows, MOST_BLOCKS), min(problem.batch, MOST_BLOCKS))
            return Launch(kernel, grid, (block, 1, 1))

        return (
            Step(
                launch(self.kernel("down"), _wide(problem)),
                ("x", "column", "sums", *numbers(problem)),
            ),
            Step(
                launch(self.kernel("across"), columns),
                ("sums", "row", "out", *numbers(problem)[2:]),
            ),
        )

    def accesses(self, problem: Separable, config: Config) -> dict[str, Accesses]:
        """Every tap of either pass reads an element and a weight."""
        return {
            self.kernel("down"): pass_down(problem),
            self.kernel("across"): pass_across(problem),
        }


def _wide(problem: Separable) -> int:
    """Columns of the sums."""
    return problem.output_size[1] + problem.mask[1] - 1


STRATEGY = Naive()
