"""The ladder of `sort`, and which strategies are picked unnamed."""

from rooftile.strategies.contract.costs import Costs

LADDER = {
    "cpu": ("loops", "radix", "buckets", "halves"),
    "gpu": ("odd_even", "bitonic", "merge", "radix", "onesweep"),
}

PREFERENCE = {
    "cpu": ("buckets", "radix", "halves", "loops"),
    "gpu": ("onesweep", "radix", "merge"),
}

COSTS = {
    "cpu": {
        "buckets": {
            "16-bit": Costs(1, 1, 0.00893, 1, 1.14e+07),
            "16-bit beside": Costs(33.1, 0.00576, 1, 778, 4.33e+06),
            "float32": Costs(9.2, 0.00613, 1, 2180, 2.46e+07),
            "float32 beside": Costs(35.3, 1, 0.0126, 1060, 9.51e+06),
            "integers": Costs(0.0639, 0.0101, 0.0214, 95.8, 1.73e+07),
            "integers beside": Costs(28.3, 0.00422, 1, 457, 2.58e+06),
        },
        "radix": {
            "16-bit": Costs(98.9, 0.00717, 1, 1, 4.19e+06),
            "16-bit beside": Costs(139, 0.00559, 1, 5570, 1.05e+06),
            "float32": Costs(163, 0.00422, 1, 17700, 1.47e+07),
            "float32 beside": Costs(139, 0.00125, 1, 12600, 1.77e+06),
            "integers": Costs(116, 0.0353, 0.0172, 13800, 1.99e+07),
            "integers beside": Costs(144, 0.00422, 1, 4340, 2.58e+06),
        },
        "loops": {
            "16-bit": Costs(0.0821, 0.000607, 1, 1, 150000),
            "16-bit beside": Costs(31.1, 0.00071, 1, 1, 4.33e+06),
            "float32": Costs(12.2, 0.000941, 1, 1, 1.47e+07),
            "float32 beside": Costs(0.203, 0.000756, 0.0108, 1, 7.6e+06),
            "integers": Costs(29.2, 0.00129, 1, 1, 6.29e+06),
            "integers beside": Costs(23.5, 0.001, 1, 1, 1.45e+07),
        },
    },
}  # fmt: skip
