"""Elements that a mask meets beyond the end of an axis, and the number of outputs.

A mask of ``size`` taps has its centre at tap ``(size - 1) // 2``.

Source: PMPP, section 7.1 (ghost cells).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from rooftile.errors import check_word
from rooftile.ops.problem import AnyArray

Boundary = Literal["zero", "replicate", "valid", "interior"]
"""``zero``: ghost cells are zeros.  ``replicate``: they repeat the axis' first or last element.
``valid``: outputs whose mask would meet one are left out.  ``interior``: these outputs are zeros,
whatever the input, as in a kernel that never writes to a result that was cleared."""

BOUNDARIES: tuple[Boundary, ...] = ("zero", "replicate", "valid", "interior")


def check_boundary(boundary: str, among: Sequence[str] = BOUNDARIES) -> None:
    """Raise `InputError` for a boundary that is not one of those."""
    check_word("boundary", boundary, among)


def before(size: int, boundary: Boundary) -> int:
    """Number of a mask's taps before the tap that meets the element with its output's index."""
    return 0 if boundary == "valid" else (size - 1) // 2


def outputs(length: int, size: int, boundary: Boundary) -> int:
    """Outputs along an axis of ``length`` elements; none or fewer where no ``valid`` one is."""
    return length - size + 1 if boundary == "valid" else length


def extended(x: AnyArray, sizes: Sequence[int], boundary: Boundary) -> AnyArray:
    """``x`` with ghost cells around its last axes, one of ``sizes`` a mask's size on each."""
    if boundary == "valid":
        return x
    widths = [((size - 1) // 2, size // 2) for size in sizes]
    around = [(0, 0)] * (x.ndim - len(widths)) + widths
    return np.pad(x, around, "edge" if boundary == "replicate" else "constant")


__all__ = ["BOUNDARIES", "Boundary", "before", "check_boundary", "extended", "outputs"]
