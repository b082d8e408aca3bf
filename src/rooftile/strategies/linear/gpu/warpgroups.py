"""`warpgroups`: the matrix product on Hopper's warpgroups and bulk copy engine.

Source: NVIDIA, "Parallel Thread Execution ISA", on ``wgmma`` and bulk copies.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from rooftile.devices.gpu import Launch
from rooftile.ops import Linear
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, Step, family
from rooftile.strategies.gemm.gpu.warpgroups.product import THREADS, WarpgroupsProduct
from rooftile.strategies.linear.gpu._base import GpuLinear, pays_for_many


class Warpgroups(WarpgroupsProduct, GpuLinear):
    """See `WarpgroupsProduct`; the weights are rounded and laid once."""

    name = "warpgroups_{precision}"
    summary = "Hopper's warpgroups, converted in registers to {numbers}"
    stores: ClassVar[Mapping[str, str]] = {"X_NARROW": "x:narrow", "OUT_NARROW": "out:narrow"}

    def layer(self, problem: Linear) -> Linear:
        """The problem itself."""
        return problem

    def why_slow(self, problem: Linear) -> str | None:
        """See `pays_for_many`."""
        return pays_for_many(problem)

    def preparation(self, problem: Linear, config: Config) -> tuple[Step, ...]:
        """Round the weights, and lay them as the cores read them."""
        launch = self.laying(problem, config, "round_weights")
        return (Step(launch, ("weights", "rounded")),)

    def laying(self, problem: Linear, config: Config, what: str) -> Launch:
        """The launch of the kernel that does it, a thread an element."""
        shares = self.shares(problem, config)
        count = shares.across * shares.tile.outputs * shares.slices * shares.tile.slice
        return Launch(self.kernel(what), (blocks(count, THREADS), 1, 1), (THREADS, 1, 1))


STRATEGIES = family(Warpgroups(), "fp16", "bf16", "tf32")
