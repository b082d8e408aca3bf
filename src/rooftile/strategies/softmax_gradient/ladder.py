"""The ladder of `softmax_gradient`, and which strategies are picked unnamed."""

from rooftile.strategies.contract.costs import Costs

LADDER = {
    "cpu": ("loops", "threads"),
    "gpu": ("naive", "block_rows"),
}

PREFERENCE = {"cpu": ("threads", "loops"), "gpu": ("block_rows", "naive")}

COSTS = {
    "cpu": {
        "threads": {
            "float32": Costs(3.6, 1, 0.444, 4.21, 768000),
        },
        "loops": {
            "float32": Costs(5.75, 1, 0.472, 4.08, 768000),
        },
    },
}  # fmt: skip
