"""`unrolled_8`: 8 rounds of the inner loops written out.

This takes the counting from the loops.  Layers of a handful of neurons have little to unroll.
"""

from __future__ import annotations

from rooftile.strategies.mlp_training.cpu._loops import UnrolledLoops


class Unrolled8(UnrolledLoops):
    """Takes every problem."""

    name = "unrolled_8"
    summary = "8 rounds of the inner loops written out"
    rounds = 8


STRATEGY = Unrolled8()
