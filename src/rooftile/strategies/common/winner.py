"""The argmax of a window, for kernels of the CPU."""

from __future__ import annotations

from rooftile.devices.cpu.emit import Writer
from rooftile.devices.cpu.native import native


@native
def winner(x, plane, width, top, left, tall, wide):  # type: ignore[no-untyped-def]
    """The index in x of a window's maximum: the first of equals, or the first NaN."""
    place = plane + top * width + left
    value = x[place]
    for a in range(tall):
        for b in range(wide):
            at = plane + (top + a) * width + left + b
            if x[at] > value or (x[at] != x[at] and value == value):
                place, value = at, x[at]
    return place


def emit_winner(to: Writer, window: tuple[int, int], plane: str, first: str) -> None:
    """Write ``best`` and ``place``: the maximum of the window that begins at ``first`` of a plane
    of x, and where it stands there; without a jump, for loops that become vectors."""
    to.line(f"best, place = x[{plane} + {first}], {first}")
    for a in range(window[0]):
        for b in range(window[1]):
            if (a, b) == (0, 0):
                continue
            # The first NaN is beaten by nothing.
            to.line(
                f"other = x[{plane} + {first} + {a} * width + {b}]",
                "nan = np.logical_and(other != other, best == best)",
                "beats = np.logical_or(other > best, nan)",
                "best = np.where(beats, other, best)",
                f"place = np.where(beats, {first} + {a} * width + {b}, place)",
            )
