"""The ladder of `permute_columns`, and which strategies are picked unnamed."""

from rooftile.strategies.contract.costs import Costs

LADDER = {
    "cpu": ("loops", "threads"),
    "gpu": ("naive", "shared_index", "rows"),
}

PREFERENCE = {"cpu": ("threads", "loops"), "gpu": ("rows", "shared_index", "naive")}

COSTS = {
    "cpu": {
        "threads": {
            "float32": Costs(2.89, 0.0258, 2.25, 2.4, 1.04e+07),
            "integers": Costs(2.33, 0.0098, 6.13, 3.08, 1.92e+07),
        },
        "loops": {
            "float32": Costs(3.83, 0.0302, 1.76, 2.8, 1.04e+07),
            "integers": Costs(4.77, 0.0101, 6.32, 3.83, 1.92e+07),
        },
    },
    "gpu": {
        "rows": {
            "float32": Costs(1.13, 0.00372, 0.882, 60, 7.59e+06),
        },
        "shared_index": {
            "float32": Costs(1, 0.0115, 1.45, 10.1, 7.59e+06),
        },
        "naive": {
            "float32": Costs(0.709, 1, 4.62, 92.9, 7.59e+06),
        },
    },
}  # fmt: skip
