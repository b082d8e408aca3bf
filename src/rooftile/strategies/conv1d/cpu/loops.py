"""`loops`: one output after the other, on one thread.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 7.1.
"""

from __future__ import annotations

from rooftile.strategies.conv1d.cpu._textbook import LineStrategy


class Loops(LineStrategy):
    """One output at a time, on one core."""

    name = "loops"
    summary = "one output after the other, one tap after the other, one thread"
    parallel = False


STRATEGY = Loops()
