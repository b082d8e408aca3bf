"""`threads`: row by row, the rows spread over the cores."""

from __future__ import annotations

from rooftile.strategies.linear_gradient.cpu.loops import Loops


class Threads(Loops):
    """Takes every problem."""

    name = "threads"
    parallel = True
    summary = "the same loops on every core"


STRATEGY = Threads()
