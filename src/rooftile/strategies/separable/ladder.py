"""The ladder of `separable`, and which strategies are picked unnamed."""

from rooftile.strategies.contract.costs import Costs

LADDER = {
    "cpu": ("loops", "vectors", "double"),
    "gpu": ("naive", "shared", "coarsened"),
}

PREFERENCE = {"cpu": ("double", "vectors", "loops"), "gpu": ("coarsened", "shared", "naive")}
"""The fastest first; each says itself which problems it takes, and which it pays for."""

COSTS = {
    "gpu": {
        "coarsened": {
            "float32": Costs(3.96, 1.41, 10.1, 37.5, 1.26e+08),
        },
        "shared": {
            "float32": Costs(1.81, 1, 7.16, 286, 1.26e+08),
        },
        "naive": {
            "float32": Costs(1.17, 1, 0.552, 70.1, 1.26e+08),
        },
    },
}  # fmt: skip
