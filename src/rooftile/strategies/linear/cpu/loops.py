"""`loops`: one dot product for each output, on one thread.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed.,
section 3.4, with a bias and an activation.
"""

from __future__ import annotations

from rooftile.strategies.linear.cpu._textbook import Textbook


class Loops(Textbook):
    """One output at a time, on one core."""

    name = "loops"
    summary = "one dot product an output, one thread"
    parallel = False


STRATEGY = Loops()
