"""`unrolled_2`: 2 rounds of the inner loops written out.

This takes the counting from the loops.  Layers of a handful of neurons have little to unroll.
"""

from __future__ import annotations

from rooftile.strategies.mlp_training.cpu._loops import UnrolledLoops


class Unrolled2(UnrolledLoops):
    """Takes every problem."""

    name = "unrolled_2"
    summary = "2 rounds of the inner loops written out"
    rounds = 2


STRATEGY = Unrolled2()
