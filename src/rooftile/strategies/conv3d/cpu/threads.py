"""`threads`: the same loops, the rows of the result shared out over the cores."""

from __future__ import annotations

from rooftile.strategies.conv3d.cpu._textbook import Textbook


class Threads(Textbook):
    """Removes idle cores, nothing else."""

    name = "threads"
    summary = "the same loops, rows of the result shared out over the cores"


STRATEGY = Threads()
