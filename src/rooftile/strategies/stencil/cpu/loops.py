"""`loops`: cells, and the points of each, one after the other, on one thread."""

from __future__ import annotations

from rooftile.strategies.stencil.cpu._textbook import Textbook


class Loops(Textbook):
    """One cell at a time, on one core."""

    name = "loops"
    parallel = False
    summary = "cells, and the points of each, one after the other, one thread"


STRATEGY = Loops()
