"""The ladder of `spmm`, and which strategies are picked unnamed."""

from rooftile.strategies.contract.costs import Costs

LADDER = {
    "cpu": ("loops", "threads", "vectors"),
    "gpu": ("naive", "staged"),
}

PREFERENCE = {"cpu": ("vectors", "threads", "loops"), "gpu": ("staged", "naive")}

COSTS = {
    "gpu": {
        "staged": {
            "float32": Costs(15.6, 1, 0.00256, 1, 4.17e+07),
        },
        "naive": {
            "float32": Costs(5.24, 1, 0.00674, 1, 4.17e+07),
        },
    },
}  # fmt: skip
