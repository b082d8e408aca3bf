"""The transposition of a square of vectors in the CPU's registers."""

from __future__ import annotations

from rooftile.devices.cpu.emit import Writer


def emit_transposition(to: Writer, lanes: int, names: list[str]) -> list[str]:
    """Write the transposition of the square of these vectors; the names of the new ones.

    Even and odd lanes of two neighbouring vectors: this moves the lowest bit of the lane to the
    top of the number of the vector, and that number's lowest bit to the top of the lane.  Done as
    often as either has bits, they have changed places.
    """
    for stage in range(lanes.bit_length() - 1):
        pairs = [f"{names[i]}, {names[i + 1]}" for i in range(0, lanes, 2)]
        names = [f"s{stage}_{i}" for i in range(lanes)]
        made = [f"{word}({pair})" for word in ("even", "odd") for pair in pairs]
        to.line(*(f"{name} = {value}" for name, value in zip(names, made, strict=True)))
    return names
