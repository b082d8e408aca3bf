"""The ladder of `segmented_scan`, and which strategies are picked unnamed."""

from rooftile.strategies.contract.costs import Costs

LADDER = {
    "cpu": ("loops", "parts"),
    "gpu": ("sequential", "flagged", "look_back", "waves"),
}

PREFERENCE = {"cpu": ("parts", "loops"), "gpu": ("waves", "look_back", "flagged", "sequential")}

COSTS = {
    "cpu": {
        "parts": {
            "float32": Costs(3.6, 0.00248, 1, 3170, 2.39e+07),
            "integers": Costs(6.13, 0.00788, 0.552, 1, 1.17e+07),
        },
        "loops": {
            "float32": Costs(2.63, 0.00328, 1, 1.7, 2.39e+07),
            "integers": Costs(1.93, 0.0108, 1.65, 1.76, 1.17e+07),
        },
    },
}  # fmt: skip
