"""The ladder of `loss_gradient`, and which strategies are picked unnamed."""

from rooftile.strategies.contract.costs import Costs

LADDER = {
    "cpu": ("loops", "threads"),
    "gpu": ("naive", "block_rows"),
}

PREFERENCE = {"cpu": ("threads", "loops"), "gpu": ("naive", "block_rows")}

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
