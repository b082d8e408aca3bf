"""The ladder of `permute_columns`, and which strategies are picked unnamed."""

from rooftile.strategies.contract.costs import Costs

LADDER = {
    "cpu": ("loops", "threads"),
    "gpu": ("naive", "shared_index", "rows"),
}
"""Every strategy, in the order in which a reader should meet them."""

PREFERENCE = {"cpu": ("threads", "loops"), "gpu": ("rows", "shared_index", "naive")}
"""The fastest first; each says itself which problems it takes."""

COSTS = {
    "cpu": {
        "threads": {
            "float32": Costs(2.89, 0.0258, 2.25, 2.4),
            "integers": Costs(2.33, 0.0098, 6.13, 3.08),
        },
        "loops": {
            "float32": Costs(3.83, 0.0302, 1.76, 2.8),
            "integers": Costs(4.77, 0.0101, 6.32, 3.83),
        },
    },
}  # fmt: skip
"""What each costs, by the case of a problem: fitted by ``benchmarks/costs.py``."""
