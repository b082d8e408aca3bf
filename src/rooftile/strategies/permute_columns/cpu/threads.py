"""`threads`: the same loops, the rows shared out over the cores."""

from __future__ import annotations

from rooftile.strategies.permute_columns.cpu.loops import Loops


class Threads(Loops):
    """Takes every problem."""

    name = "threads"
    parallel = True
    summary = "the same loops on every core"


STRATEGY = Threads()
