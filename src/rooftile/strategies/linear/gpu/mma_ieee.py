"""Rung 13, `mma_ieee`: the matrix product on tensor cores with float32's error."""

from __future__ import annotations

from rooftile.strategies.linear.gpu._mma import Mma


class MmaIeee(Mma):
    """Each number in two parts of TF32, three products for one, short sums in the cores."""

    name = "mma_ieee"
    order = 13
    summary = "tensor cores, float32 as two parts of TF32"


STRATEGY = MmaIeee()
