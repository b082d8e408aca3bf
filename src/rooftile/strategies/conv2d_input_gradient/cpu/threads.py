"""`threads`: the same loops, shared out over the cores."""

from __future__ import annotations

from rooftile.strategies.conv2d_input_gradient.cpu.loops import Loops


class Threads(Loops):
    """Takes every problem."""

    name = "threads"
    parallel = True
    summary = "the same loops on every core"


STRATEGY = Threads()
