"""A matrix turned before a product, whose kernels want its lines the other way."""

from __future__ import annotations

from rooftile.analysis.accesses import WARP, Accesses, row_loads, row_stores
from rooftile.devices.gpu import Launch
from rooftile.ops import Array
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import GpuStrategy, Step

_TURNED = 32
"""Sides of the tiles in which it is turned."""


def turning(rung: GpuStrategy, array: Array, to: str) -> Step:
    """The step that turns a matrix, see ``turn.h``."""
    down, across = array.shape
    launch = Launch(
        rung.kernel("turn"),
        (blocks(down, _TURNED) * blocks(across, _TURNED), 1, 1),
        (_TURNED, 8, 1),
    )
    return Step(launch, (array.name, to, down, across))


def turning_accesses(array: Array) -> Accesses:
    """The accesses of transposing an array."""
    down, across = array.shape
    held = Accesses(shared_reads=array.size / WARP)
    return row_loads(across, down) + row_stores(down, across) + held
