"""Rung 3, `atomic`: every element that is kept takes the next place from one counter."""

from __future__ import annotations

from rooftile.strategies.compact.gpu._base import Counting


class Atomic(Counting):
    """Takes problems whose elements may come in any order."""

    name = "atomic"
    order = 3
    summary = "every element takes the next place from one counter; the order is lost"


STRATEGY = Atomic()
