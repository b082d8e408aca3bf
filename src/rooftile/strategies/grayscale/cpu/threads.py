"""`threads`: the same loop, the pixels shared out over the cores."""

from __future__ import annotations

from rooftile.strategies.grayscale.cpu.loops import Loops


class Threads(Loops):
    """Takes every problem."""

    name = "threads"
    parallel = True
    summary = "the same loop on every core"


STRATEGY = Threads()
