"""A GPU rung's launch drawn: a block's threads by warps, what one loads, what is resident."""

from __future__ import annotations

import math

from rooftile.analysis.pictures import Cell, Panel, Role, panel
from rooftile.lab.show.explain.drawing import drawing
from rooftile.lab.show.explain.explanation import Explanation
from rooftile.lab.show.explain.kernels import KernelView

_LEGEND: dict[Role, str] = {
    "made": "threads of a block, a warp a row",
    "idle": "lanes of a warp without a thread, or room for a warp that stays empty",
    "core": "elements that a thread loads from global memory",
    "used": "elements that it stores",
    "halo": "warps that a multiprocessor holds at once",
}
_WARP, _MOST_WARPS, _MOST_KERNELS, _MOST_CELLS = 32, 8, 3, 64


def launch_picture(found: Explanation) -> str:
    """The first kernels as SVG."""
    panels = [one for kernel in found.kernels[:_MOST_KERNELS] for one in _of_kernel(kernel)]
    return drawing(tuple(panels), _LEGEND)


def _of_kernel(kernel: KernelView) -> list[Panel]:
    threads = math.prod(kernel.grid.block)
    warps = -(-threads // _WARP)
    few = f", the first {_MOST_WARPS} of {warps} warps" if warps > _MOST_WARPS else ""
    shape = " x ".join(map(str, kernel.grid.block))
    return [
        panel(
            f"{kernel.name}: a block of {shape} threads{few}",
            (min(warps, _MOST_WARPS), _WARP),
            lambda i, j: Cell("made" if _WARP * i + j < threads else "idle"),
        ),
        *_of_thread(kernel),
        *_resident(kernel),
    ]


def _of_thread(kernel: KernelView) -> list[Panel]:
    """The average loads and stores of one thread; empty without a model."""
    if kernel.accesses is None:
        return []
    threads = kernel.grid.threads * kernel.launches
    loads, stores = kernel.accesses.loads / threads, kernel.accesses.stores / threads
    each = max(1.0, (loads + stores) / _MOST_CELLS)
    scale = f", {each:.3g} a cell" if each > 1 else ""
    cells: list[Role] = ["core"] * round(loads / each)
    cells += ["used"] * max(round(stores / each), int(stores > 0))
    title = f"{kernel.name}: a thread loads {loads:.3g} and stores {stores:.3g}{scale}"
    return [_row(title, cells)] if cells else []


def _resident(kernel: KernelView) -> list[Panel]:
    """The warps of a multiprocessor; nothing where the registers are not known."""
    held = kernel.occupancy
    if held is None or not held.occupancy:
        return []
    room = round(held.warps / held.occupancy)
    title = f"{kernel.name}: {held.warps} of {room} warps in {held.blocks} blocks"
    warps: list[Role] = ["halo"] * held.warps
    warps += ["idle"] * (room - held.warps)
    return [_row(title, warps)]


def _row(title: str, roles: list[Role]) -> Panel:
    """Cells one after the other, a warp's number of them a row."""

    def cell(i: int, j: int) -> Cell | None:
        k = _WARP * i + j
        return Cell(roles[k]) if k < len(roles) else None

    return panel(title, (-(-len(roles) // _WARP), min(len(roles), _WARP)), cell)
