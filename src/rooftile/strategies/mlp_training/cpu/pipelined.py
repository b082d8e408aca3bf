"""`pipelined`: the next row's first layer is summed before this row's step.

A step needs the weights that the one before has left, so rows cannot be computed beside each other.
But what a step does to the first layer is known in form: ``(W - g x^T) n = W n - g (x n)``.  So the
sums of the next row n are made with the old weights while this row x is on its way, and corrected
by one product when the gradient g has come.
"""

from __future__ import annotations

from rooftile.strategies.mlp_training.cpu._vectors import LaneANeuron


class Pipelined(LaneANeuron):
    """float32, layers no wider than a vector, without softplus."""

    name = "pipelined"
    summary = "the next row's first layer is summed before this row's step, and corrected after it"
    ahead = True


STRATEGY = Pipelined()
