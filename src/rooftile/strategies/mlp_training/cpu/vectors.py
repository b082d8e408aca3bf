"""`vectors`: a lane a neuron; a layer is a vector, and so are its weights' columns and
rows, which stay in registers."""

from __future__ import annotations

from rooftile.strategies.mlp_training.cpu._vectors import LaneANeuron


class Vectors(LaneANeuron):
    """float32, layers no wider than a vector, without softplus."""

    name = "vectors"
    summary = "a lane a neuron, the weights in registers as columns and as rows"
    ahead = False


STRATEGY = Vectors()
