"""`constant`: the mask in constant memory.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 7.3.
"""

from __future__ import annotations

from rooftile.analysis.accesses import Accesses
from rooftile.ops.patterns.conv1d import Conv1d
from rooftile.strategies.contract.gpu import Config
from rooftile.strategies.conv1d.gpu._accesses import thread_an_output
from rooftile.strategies.conv1d.gpu._base import ConstantConv1d


class Constant(ConstantConv1d):
    """A thread an output."""

    name = "constant"
    family = "constant_memory"  # `constant` is a word of OpenCL C.
    summary = "the mask in constant memory, whose cache serves a warp with one read"

    def tile(self, problem: Conv1d, config: Config) -> int:
        """An output for each thread."""
        return config["BLOCK"]

    def accesses(self, problem: Conv1d, config: Config) -> dict[str, Accesses]:
        """Every tap reads an input; weights come by the constant cache."""
        return {self.kernel(): thread_an_output(problem, config["BLOCK"], weights=False)}


STRATEGY = Constant()
