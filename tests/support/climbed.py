"""What the tests of climbs on GPUs compute, and a rung that they change."""

from __future__ import annotations

from rooftile.strategies import strategy
from rooftile.strategies.conv2d.gpu.naive import Naive

SHAPE = "channels=3,height=11,width=14,maps=4,mask=3x3,activation=relu,pool=max:2"


class FromNaive(Naive):
    """`naive`, to be changed in how it runs."""

    text = strategy("conv2d", "naive", "opencl").text

    def kernel(self, what=""):
        """The text's, whatever the changed rung is called."""
        return strategy("conv2d", "naive", "opencl").kernel(what)
