"""`items`: a block makes a layer's scores, their losses and all gradients of a few images. Source:
Goodfellow, Bengio, Courville, "Deep Learning" (2016), sections 6.2.2.3 and 6.5."""

from __future__ import annotations

from rooftile.ops.features import features
from rooftile.ops.gradients.linear_cross_entropy import LinearCrossEntropy
from rooftile.strategies.contract.gpu import Config, Step
from rooftile.strategies.linear_cross_entropy.gpu._base import OfItems

_THREADS = 256
_MOST_SHARED = 5120
"""float32 of weights that a block has in shared memory; more of them it reads where they are."""


class Items(OfItems):
    """Nothing between the layer's input and its gradient leaves the block but losses and dz."""

    name = "items"
    summary = "the layer, its loss and all gradients of a few images in one block"
    takes = features("before:* scaled")

    def macros(self, problem: LinearCrossEntropy, config: Config) -> dict[str, int | str]:
        held = {"THREADS": _THREADS, "MOST_HELD": _MOST_SHARED}
        return {**super().macros(problem, config), **held}

    def steps(self, problem: LinearCrossEntropy, config: Config) -> tuple[Step, ...]:
        return self.launched(problem, config, (_THREADS, 1, 1))


STRATEGY = Items()
