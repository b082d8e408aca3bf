"""The ladder of `grayscale`, and which strategies are picked unnamed."""

from rooftile.strategies.contract.costs import Costs

LADDER = {
    "cpu": ("loops", "threads"),
    "gpu": ("naive", "vectors"),
}

PREFERENCE = {"cpu": ("threads", "loops"), "gpu": ("vectors", "naive")}
"""The fastest first."""

COSTS = {
    "cpu": {
        "threads": {
            "integers": Costs(1.37, 1, 1, 0.197, 2.79e+07),
        },
        "loops": {
            "integers": Costs(3.18, 1, 0.829, 0.174, 2.79e+07),
        },
    },
}  # fmt: skip
