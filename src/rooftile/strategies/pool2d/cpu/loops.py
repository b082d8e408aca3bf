"""`loops`: one window after the other, one thread.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed.,
section 16.2 (the subsampling layer).
"""

from __future__ import annotations

from rooftile.strategies.pool2d.cpu._textbook import Textbook


class Loops(Textbook):
    """One output at a time, on one core."""

    name = "loops"
    summary = "one window after the other, one thread"
    parallel = False


STRATEGY = Loops()
