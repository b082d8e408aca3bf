"""The ladder of `sort`, and which strategies are picked unnamed."""

from rooftile.strategies.contract.costs import Costs

LADDER = {
    "cpu": ("loops", "radix", "buckets", "halves"),
    "gpu": ("odd_even", "bitonic", "merge", "radix", "onesweep"),
}
"""Every strategy, in the order in which a reader should meet them."""

PREFERENCE = {
    "cpu": ("buckets", "radix", "halves", "loops"),
    "gpu": ("onesweep", "radix", "merge"),
}
"""The fastest first; each says itself which problems it takes."""

COSTS = {
    "cpu": {
        "buckets": {
            "16-bit": Costs(0.0498, 1, 0.0074, 1),
            "float32": Costs(0.197, 0.00435, 1, 2320),
            "float32 beside": Costs(31.1, 1, 0.0108, 1240),
            "integers": Costs(0.0564, 0.0104, 1, 123),
            "integers beside": Costs(15.6, 0.00409, 1, 1060),
        },
        "radix": {
            "16-bit": Costs(98.9, 0.00717, 1, 1),
            "float32": Costs(131, 0.00281, 1, 17700),
            "float32 beside": Costs(135, 0.000884, 1, 10700),
            "integers": Costs(95.8, 1, 0.0111, 1),
            "integers beside": Costs(209, 0.00361, 1, 1920),
        },
        "loops": {
            "16-bit": Costs(0.0821, 0.000607, 1, 1),
            "float32": Costs(0.144, 0.00107, 1, 1),
            "float32 beside": Costs(0.417, 0.000805, 0.0098, 1),
            "integers": Costs(36.4, 0.0016, 1, 1),
            "integers beside": Costs(0.093, 0.00103, 1, 1),
        },
    },
}  # fmt: skip
"""What each costs, by the case of a problem: fitted by ``benchmarks/costs.py``."""
