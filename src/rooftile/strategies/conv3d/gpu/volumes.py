"""Rungs whose kernels are common to volumes, see `rooftile.strategies.common.volumes`.

Source: PMPP, section 7.3; section 7.4 and figure 7.12, with one more axis; section 8.4 (thread
coarsening of a stencil along the planes); Micikevicius, "3D Finite Difference Computation on GPUs
using CUDA", GPGPU-2 (2009), for the march; section 8.5 (register tiling). A box's mask makes each
plane be added to the sums of all planes that meet it, and not kept until they are made.
"""

from __future__ import annotations

from rooftile.ops.features import features
from rooftile.strategies.common.volume_march import MarchStrategy
from rooftile.strategies.common.volumes import CoarsenedStrategy, InputTileStrategy, PlainStrategy
from rooftile.strategies.contract.gpu import Tunable
from rooftile.strategies.conv3d.gpu.naive import Naive


class Constant(PlainStrategy):
    """Takes weights of up to 65,536 bytes."""

    operation = "conv3d"
    name = "constant"
    family = "constant_memory"  # `constant` is a word of OpenCL C.
    summary = "weights in constant memory, whose cache serves a warp with one read"
    takes = features("boundary:valid form:batch")
    tunables = Naive.tunables


_EDGES = (6, 8, 10)


class Cube(InputTileStrategy):
    """A cube of 8 inputs along each axis makes 6x6x6 sums of a 3x3x3 mask: 58 % of the threads
    idle."""

    operation = "conv3d"
    name = "cube"
    summary = "cubes of inputs in shared memory, a thread an input, most idle in the sum"
    takes = features("boundary:valid form:batch")
    tunables = tuple(Tunable(f"LOADED_{axis}", _EDGES, 8) for axis in "ZYX")


class Prism(InputTileStrategy):
    """A prism of 4x8x32 inputs makes 2x6x30 sums of a 3x3x3 mask; one of 8x8x16, 6x6x14.

    Neighbours of a row lie in one piece of memory, so a long tile reads whole sectors, and more of
    its threads have a sum.
    """

    operation = "conv3d"
    name = "prism"
    summary = "prisms of inputs in shared memory, long along the rows"
    takes = features("boundary:valid form:batch")
    tunables = (
        Tunable("LOADED_Z", (4, 6, 8), 8),
        Tunable("LOADED_Y", (4, 6, 8), 8),
        Tunable("LOADED_X", (16, 32), 16),
    )


class Coarsened(CoarsenedStrategy):
    """Takes masks whose tile shared memory holds."""

    operation = "conv3d"
    name = "coarsened"
    summary = "a column of sums a thread, so a value read from shared memory is used more"
    takes = features("boundary:valid form:batch")
    tunables = (
        Tunable("THREAD_PLANES", (2, 4, 8), 4),
        Tunable("BLOCK_Y", (4, 8, 16), 8),
        Tunable("BLOCK_X", (16, 32), 32),
    )


class March(MarchStrategy):
    """Takes masks of up to 1024 taps whose stages shared memory holds."""

    operation = "conv3d"
    name = "march"
    summary = "marching planes, copied ahead; open sums in registers, four columns a thread"
    takes = features("boundary:valid form:batch")


STRATEGIES = (Constant(), Cube(), Prism(), Coarsened(), March())
