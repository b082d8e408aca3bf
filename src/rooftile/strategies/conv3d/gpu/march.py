"""`march`: blocks march through the planes, with open sums in registers.

Source: Micikevicius, "3D Finite Difference Computation on GPUs using CUDA", GPGPU-2 (2009), for the
march; Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 8.5
(register tiling).  That each plane is given to the sums of all planes that meet it, and not kept
until they are made, is what a box's mask asks for.
"""

from __future__ import annotations

from rooftile.ops.features import features
from rooftile.strategies.common.volume_march import MarchStrategy


class March(MarchStrategy):
    """Takes masks of up to 1024 taps whose stages shared memory holds."""

    operation = "conv3d"
    name = "march"
    summary = "marching planes, copied ahead; open sums in registers, four columns a thread"
    takes = features("boundary:valid form:batch")


STRATEGY = March()
