"""What the tests of climbs on GPUs compute, and a rung that they change."""

from __future__ import annotations

from rooftile.lab.ceilings.cpu import Ceilings, Rates
from rooftile.strategies import strategy
from rooftile.strategies.conv2d.gpu.naive import Naive

SHAPE = "channels=3,height=11,width=14,maps=4,mask=3x3,activation=relu,pool=max:2"


class FromNaive(Naive):
    """`naive`, to be changed in how it runs."""

    text = strategy("conv2d", "naive", "opencl").text


def fixed_ceilings() -> Ceilings:
    """Those of no machine in particular, for tests that do not look at them: to measure them takes
    both cores for seconds."""
    rates = Rates(
        threads=2, fma_gflops=200.0, read_gbps=30.0, copy_gbps=30.0, stream_copy_gbps=40.0
    )
    return Ceilings(rates, rates, undisturbed=True)
