"""`march`: blocks march through the planes, with open sums in registers.

Source: Micikevicius, "3D Finite Difference Computation on GPUs using CUDA", GPGPU-2 (2009); Kirk,
Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 8.5.
"""

from __future__ import annotations

from rooftile.ops.features import features
from rooftile.strategies.common.volume_march import MarchStrategy


class March(MarchStrategy):
    """Takes every problem."""

    operation = "stencil"
    name = "march"
    summary = "marching planes, copied ahead; open sums in registers, four columns a thread"
    takes = features("boundary:valid")


STRATEGY = March()
