"""The transposition of a square of vectors in the CPU's registers."""

from __future__ import annotations

from collections.abc import Callable

from rooftile.devices.cpu.emit import Writer


def emit_transposition(to: Writer, lanes: int, names: list[str], made_as: str = "s") -> list[str]:
    """Write the transposition of the square of these vectors; the names of the new ones, which
    ``made_as`` begins.

    Vectors whose numbers differ in one bit are woven: that bit becomes one of the lane's number,
    and which half of the lanes a new vector has becomes the bit of its number.  Each stage is for
    the next bit of both.  Within four lanes, where processors weave fastest, it is the other of two
    bits that gets into the number: so the numbers' lowest bits change places in the end.
    """
    for stage in range(lanes.bit_length() - 1):
        apart = 1 << stage
        made = [f"{made_as}{stage}_{i}" for i in range(lanes)]
        for low, high in ((i, i + apart) for i in range(lanes) if not i & apart):
            pair = f"{names[low]}, {names[high]}, {apart}"
            to.line(f"{made[low]} = woven_low({pair})", f"{made[high]} = woven_high({pair})")
        names = made
    return [names[k - k % 4 + (0, 2, 1, 3)[k % 4]] for k in range(lanes)]


def emit_columns(to: Writer, lanes: int, place: Callable[[int], str]) -> list[str]:
    """Write the loads of a square whose row ``i`` begins at an expression, such as ``a, k + 3``,
    and its transposition; the names of its columns."""
    rows = [f"r{i}" for i in range(lanes)]
    to.line(*(f"{row} = load({place(i)})" for i, row in enumerate(rows)))
    return emit_transposition(to, lanes, rows)
