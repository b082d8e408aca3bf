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
            "16-bit": Costs(1, 1, 0.00893, 1),
            "16-bit beside": Costs(33.1, 0.00576, 1, 778),
            "float32": Costs(9.2, 0.00613, 1, 2180),
            "float32 beside": Costs(35.3, 1, 0.0126, 1060),
            "integers": Costs(0.0639, 0.0101, 0.0214, 95.8),
            "integers beside": Costs(28.3, 0.00422, 1, 457),
        },
        "radix": {
            "16-bit": Costs(98.9, 0.00717, 1, 1),
            "float32": Costs(163, 0.00422, 1, 17700),
            "float32 beside": Costs(139, 0.00125, 1, 12600),
            "integers": Costs(116, 0.0353, 0.0172, 13800),
            "integers beside": Costs(144, 0.00422, 1, 4340),
        },
        "loops": {
            "16-bit": Costs(0.0821, 0.000607, 1, 1),
            "16-bit beside": Costs(31.1, 0.00071, 1, 1),
            "float32": Costs(12.2, 0.000941, 1, 1),
            "float32 beside": Costs(0.203, 0.000756, 0.0108, 1),
            "integers": Costs(29.2, 0.00129, 1, 1),
            "integers beside": Costs(23.5, 0.001, 1, 1),
        },
    },
}  # fmt: skip
"""What each costs, by the case of a problem: fitted by ``benchmarks/costs.py``."""
