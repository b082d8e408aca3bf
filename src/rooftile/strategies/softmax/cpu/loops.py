"""`loops`: row by row, one thread.

Source: Goodfellow, Bengio, Courville, "Deep Learning" (2016), section 4.1 (the
largest element is subtracted first, so that no exponential overflows).
"""

from __future__ import annotations

from rooftile.strategies.softmax.cpu._textbook import Textbook


class Loops(Textbook):
    """One row at a time, on one core."""

    name = "loops"
    summary = "row by row, one thread"
    parallel = False


STRATEGY = Loops()
