"""The ladder of `compact`, and which strategies are picked unnamed."""

from rooftile.strategies.contract.costs import Costs

LADDER = {
    "cpu": ("loops", "two_pass", "vectors"),
    "gpu": ("sequential", "three_launches", "atomic", "aggregated", "look_back", "waves"),
}

PREFERENCE = {
    "cpu": ("vectors", "two_pass", "loops"),
    "gpu": ("waves", "look_back", "three_launches"),
}

COSTS = {
    "cpu": {
        "vectors": {
            "float32": Costs(8.64, 1, 0.687, 1, 2.83e+07),
        },
        "two_pass": {
            "float32": Costs(8.91, 0.00674, 0.404, 1, 2.83e+07),
            "integers": Costs(16.1, 0.00813, 1, 1, 2.22e+07),
        },
        "loops": {
            "float32": Costs(0.00409, 1, 0.0483, 1, 2.83e+07),
            "integers": Costs(168, 1, 0.0426, 1, 2.22e+07),
        },
    },
}  # fmt: skip
