"""The ladder of `loss_gradient`, and which strategies are picked unnamed."""

from rooftile.strategies.contract.costs import Costs

LADDER = {
    "cpu": ("loops", "threads"),
    "gpu": ("naive", "block_rows"),
}
"""Every strategy, in the order in which a reader should meet them."""

PREFERENCE = {"cpu": ("threads", "loops"), "gpu": ("naive", "block_rows")}
"""The fastest first; each says itself which problems it takes."""

COSTS = {
    "cpu": {
        "threads": {
            "float32": Costs(3.08, 0.0208, 1, 0.607, 2.28e+06),
        },
        "loops": {
            "float32": Costs(5.24, 0.0221, 1, 0.804, 2.28e+06),
        },
    },
}  # fmt: skip
"""What each costs, by the case of a problem: fitted by ``benchmarks/costs.py``."""
