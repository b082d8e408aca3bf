"""`unrolled_4`: 4 rounds of the inner loops written out.

This takes the counting from the loops.  Layers of a handful of neurons have little to unroll.
"""

from __future__ import annotations

from rooftile.strategies.mlp_training.cpu._loops import UnrolledLoops


class Unrolled4(UnrolledLoops):
    """Takes every problem."""

    name = "unrolled_4"
    summary = "4 rounds of the inner loops written out"
    rounds = 4


STRATEGY = Unrolled4()
