"""`loops`: the textbook's loops over outputs, channels and mask, on one thread.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 7.1.
"""

from __future__ import annotations

from rooftile.strategies.conv3d.cpu._textbook import Textbook


class Loops(Textbook):
    """One output at a time, on one core."""

    name = "loops"
    parallel = False
    summary = "the textbook's loops over outputs, channels and mask, one thread"


STRATEGY = Loops()
