"""`loops`: the seven textbook loops, one thread.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed.,
figure 16.5, with the fused block around it.
"""

from __future__ import annotations

from rooftile.strategies.conv2d.cpu._textbook import Textbook


class Loops(Textbook):
    """One output at a time, on one core."""

    name = "loops"
    summary = "the seven textbook loops, one thread"
    parallel = False


STRATEGY = Loops()
