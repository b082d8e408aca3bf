"""The ladder of `scan`, and which strategies are picked unnamed."""

from rooftile.strategies.contract.costs import Costs

LADDER = {
    "cpu": ("loops", "two_pass", "columns", "vectors"),
    "gpu": (
        "sequential", "kogge_stone", "kogge_stone_double", "brent_kung", "three_phase",
        "hierarchical", "recursive", "sums_first", "columns", "rows", "look_back", "waves",
    ),
}  # fmt: skip
"""Every strategy, in the order in which a reader should meet them."""

PREFERENCE = {
    "cpu": ("vectors", "columns", "two_pass", "loops"),
    "gpu": ("rows", "waves", "look_back", "columns", "sums_first", "sequential"),
}
"""The fastest first, by measurements; each says itself which problems it pays for."""

COSTS = {
    "cpu": {
        "vectors": {
            "float32": Costs(4.62, 0.0108, 1, 17.7),
            "float32 beside": Costs(18.9, 1, 0.882, 230),
        },
        "columns": {
            "16-bit beside": Costs(4.77, 1, 0.43, 416),
            "float32 beside": Costs(1.87, 1, 0.687, 686),
            "integers beside": Costs(3.49, 0.0183, 1, 33.1),
        },
        "two_pass": {
            "16-bit": Costs(11.8, 1, 0.00865, 4.77),
            "16-bit beside": Costs(0.939, 1, 0.00384, 0.21),
            "float32": Costs(0.503, 1, 0.053, 70.1),
            "float32 beside": Costs(0.278, 1, 0.0342, 36.4),
            "integers": Costs(2.99, 0.00674, 1, 52.9),
            "integers beside": Costs(2.55, 0.00281, 1, 58.1),
        },
        "loops": {
            "16-bit": Costs(3.18, 0.00205, 0.0342, 0.0195),
            "16-bit beside": Costs(3.83, 1, 0.0172, 0.0183),
            "float32": Costs(2.4, 1, 0.144, 4.62),
            "float32 beside": Costs(1.13, 1, 0.119, 4.48),
            "integers": Costs(2.55, 0.0143, 1, 1.81),
            "integers beside": Costs(1.32, 0.00764, 1, 1),
        },
    },
}  # fmt: skip
"""What each costs, by the case of a problem: fitted by ``benchmarks/costs.py``."""
