"""`threads`: the same loops, blocks of outputs shared out over the cores."""

from __future__ import annotations

from rooftile.strategies.conv1d.cpu._textbook import LineStrategy


class Threads(LineStrategy):
    """The same loops as `loops`; the work is shared by all cores."""

    name = "threads"
    summary = "the same loops over a pool of threads"


STRATEGY = Threads()
