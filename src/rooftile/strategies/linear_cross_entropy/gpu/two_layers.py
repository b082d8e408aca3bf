"""`two_layers`: a block makes two layers, the losses and all gradients of a few images. Source:
Goodfellow, Bengio, Courville, "Deep Learning" (2016), sections 6.2.2.3 and 6.5."""

from __future__ import annotations

from rooftile.ops.features import features
from rooftile.ops.gradients.linear_cross_entropy import LinearCrossEntropy
from rooftile.strategies.common.fused import ACTIVATION_CODES
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, Step
from rooftile.strategies.linear_cross_entropy.gpu._base import MOST_HELD, MOST_ITEMS, OfItems

_MOST_FEATURES, _MOST_INPUTS, _ROWS = 4096, 128, 4
_MOST_OF_FIRST = 2**26
"""Multiplications of the first layer; beyond these large products of matrices take less time."""
_MOST_THREADS = 512
_MOST_SUMS = 256
"""Inputs of all items of a block."""


class TwoLayers(OfItems):
    """A team of threads walks along rows of the first weights, and keeps what it can of them."""

    name = "two_layers"
    summary = "two layers, their loss and all gradients of a few images in one block"
    takes = features("before:* below:* features scaled")
    requires = features("features")

    def limits(self, problem: LinearCrossEntropy) -> str | None:
        if problem.features % 4 or problem.features > _MOST_FEATURES:
            return f"{problem.features} features: it takes fours, at most {_MOST_FEATURES}"
        held = problem.inputs * problem.outputs
        if problem.inputs > _MOST_INPUTS or held > MOST_HELD:
            few = f"at most {_MOST_INPUTS}, and {MOST_HELD} weights"
            return f"{problem.inputs} inputs and {held} weights of the last layer: {few}"
        return super().limits(problem)

    def pays(self, problem: LinearCrossEntropy) -> bool:
        """See `Strategy.pays`: tiles of matrices make more products of the first layer sooner."""
        products = problem.images * problem.inputs * problem.features
        return products <= _MOST_OF_FIRST and super().pays(problem)

    def most_items(self, problem: LinearCrossEntropy) -> int:
        """Items whose sums a block joins."""
        return _MOST_SUMS // problem.inputs

    def macros(self, problem: LinearCrossEntropy, config: Config) -> dict[str, int | str]:
        team, teams, _ = self._block(problem)
        return {
            **super().macros(problem, config),
            "FEATURES": problem.features,
            "BELOW": ACTIVATION_CODES[problem.below],
            "ROWS": _ROWS,
            "TEAM": team,
            "TEAMS": teams,
            # Where a thread has many sums it has fewer registers for weights.
            "MOST_EARLY": 2 if config["ITEMS"] == MOST_ITEMS else 4,
        }

    def steps(self, problem: LinearCrossEntropy, config: Config) -> tuple[Step, ...]:
        return self.launched(problem, config, self._block(problem))

    def _block(self, problem: LinearCrossEntropy) -> tuple[int, int, int]:
        """Threads of a team, and teams."""
        teams = blocks(problem.inputs, _ROWS)
        return 1 << (_MOST_THREADS // teams).bit_length() - 1, teams, 1


STRATEGY = TwoLayers()
