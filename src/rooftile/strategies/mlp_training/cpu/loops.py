"""`loops`: neurons, and the inputs of each, one after the other.

Source: Rumelhart, Hinton, Williams, "Learning representations by back-propagating errors",
Nature 323 (1986).
"""

from __future__ import annotations

from rooftile.strategies.mlp_training.cpu._loops import UnrolledLoops


class Loops(UnrolledLoops):
    """Takes every problem."""

    name = "loops"
    summary = "neurons, and the inputs of each, one after the other"
    rounds = 1


STRATEGY = Loops()
