"""`tile_constant`: input tiles in shared memory, the mask in constant memory.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed.,
section 7.4 and figure 7.12, whose mask is in constant memory.
"""

from __future__ import annotations

from rooftile.analysis.accesses import Accesses
from rooftile.ops import Conv2d
from rooftile.strategies.contract.gpu import Config, Step
from rooftile.strategies.conv2d.gpu._constant import ConstantWeights
from rooftile.strategies.conv2d.gpu._tile_accesses import loads_and_results, tile_reads
from rooftile.strategies.conv2d.gpu.tile_input import TileInput


class TileConstant(ConstantWeights, TileInput):
    """The tile of `tile_input`."""

    name = "tile_constant"
    summary = "input tiles in shared memory, a thread an input, weights in constant memory"

    def steps(self, problem: Conv2d, config: Config) -> tuple[Step, ...]:
        """A launch a slice, a block for each tile of its maps."""
        (whole,) = TileInput.steps(self, problem, config)
        return self.slices(problem, config, whole.launch)

    def accesses(self, problem: Conv2d, config: Config) -> dict[str, Accesses]:
        """The tile of each channel; then an input a tap: weights come by the constant cache."""
        tile = self.tile(problem, config)
        return {self.kernel(): loads_and_results(problem, tile) + tile_reads(problem, tile)}


STRATEGY = TileConstant()
