"""`mma_ieee`: the matrix product on tensor cores with float32's error.

Source: for the split products Ootomo and Yokota, "Recovering single precision accuracy from
Tensor Cores while surpassing the FP32 theoretical peak performance", IJHPCA 36 (2022).
"""

from __future__ import annotations

from rooftile.devices.gpu import Launch
from rooftile.ops import Linear
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.common.warpgroups import too_short
from rooftile.strategies.contract.gpu import Config, Step
from rooftile.strategies.linear.gpu.mma.mma import THREADS, Mma


class MmaIeee(Mma):
    """A number is split in two of float16, three products stand for one, and the cores sum up
    little at a time."""

    name = "mma_ieee"
    multiplied = "fp16"
    numbers = 2
    summary = "tensor cores, float32 as two numbers of scaled float16"

    def limits(self, problem: Linear) -> str | None:
        """Short sums, whose budgets have no room for the split's error; little shared memory."""
        return too_short(problem.reduction) or self.unfit(problem)

    def _too_long(self, problem: Linear, parts: int) -> str | None:
        """No sum is too long: the cores sum up a slice at a time."""
        return None

    def other_registers(self, config: Config) -> int:
        """Two more for each row of a lane, which say how large and how small its numbers are."""
        return super().other_registers(config) + config["WARP_B"] // 4

    def workspace(self, problem: Linear, config: Config) -> dict[str, int]:
        """Both numbers of each weight, a scale for each output, and every part's sums."""
        arrays = super().workspace(problem, config)
        return {"numbers": arrays.pop("rounded"), "row_scales": 2 * problem.outputs, **arrays}

    def preparation(self, problem: Linear, config: Config) -> tuple[Step, ...]:
        """Finds the scale of each output's weights, then splits them."""
        (lay,) = super().preparation(problem, config)
        grid = (blocks(32 * problem.outputs, THREADS), 1, 1)
        split = Launch(self.kernel("split_weights"), lay.launch.grid, lay.launch.block)
        return (
            Step(
                Launch(self.kernel("measure_weights"), grid, (THREADS, 1, 1)),
                ("weights", "row_scales"),
            ),
            Step(split, ("weights", "row_scales", "numbers")),
        )

    def steps(self, problem: Linear, config: Config) -> tuple[Step, ...]:
        """As for the others; results in doubt are computed from `x` and `weights`."""
        return self._steps(problem, config, ("row_scales", "numbers"), ("x", "weights"))


STRATEGY = MmaIeee()
