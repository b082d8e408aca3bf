"""`threads`: row by row, the rows spread over the cores."""

from __future__ import annotations

from rooftile.strategies.softmax.cpu._textbook import Textbook


class Threads(Textbook):
    """The same loops as `loops`; the work is shared by all cores."""

    name = "threads"
    summary = "the same loops over a pool of threads"


STRATEGY = Threads()
