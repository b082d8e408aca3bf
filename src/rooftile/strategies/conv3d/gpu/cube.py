"""`cube`: cubes of inputs in shared memory, a thread an input.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 7.4 and
figure 7.12, with one more axis.
"""

from __future__ import annotations

from rooftile.ops.features import features
from rooftile.strategies.common.volumes import InputTileStrategy
from rooftile.strategies.contract.gpu import Tunable

_EDGES = (6, 8, 10)


class Cube(InputTileStrategy):
    """A cube of 8 inputs along each axis makes 6x6x6 sums of a 3x3x3 mask: 58 % of the threads
    idle."""

    operation = "conv3d"
    name = "cube"
    summary = "cubes of inputs in shared memory, a thread an input, most idle in the sum"
    takes = features("boundary:valid form:batch")
    tunables = tuple(Tunable(f"LOADED_{axis}", _EDGES, 8) for axis in "ZYX")


STRATEGY = Cube()
