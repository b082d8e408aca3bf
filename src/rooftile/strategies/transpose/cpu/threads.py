"""`threads`: the same loops, the rows of the result shared out over the cores."""

from __future__ import annotations

from rooftile.strategies.transpose.cpu.loops import Loops


class Threads(Loops):
    """Takes every permutation of up to four axes."""

    name = "threads"
    parallel = True
    summary = "the same loops on every core"


STRATEGY = Threads()
