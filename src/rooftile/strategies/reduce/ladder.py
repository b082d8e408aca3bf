"""The ladder of `reduce`, and which strategies are picked unnamed."""

from rooftile.strategies.contract.costs import Costs

LADDER = {
    "cpu": ("loops", "pairwise", "accumulators", "vectors"),
    "gpu": (
        "naive", "interleaved", "compacted", "tree", "coarsened", "shuffles", "atomic",
        "persistent", "last_block", "vectors", "columns",
    ),
}  # fmt: skip

PREFERENCE = {
    "cpu": ("vectors", "pairwise", "loops"),
    "gpu": ("vectors", "columns", "compacted", "naive"),
}

COSTS = {
    "cpu": {
        "vectors": {
            "16-bit": Costs(3.6, 1, 0.779, 60, 9.61e+06),
            "16-bit beside": Costs(2.8, 0.0468, 1, 1, 7.03e+06),
            "float32": Costs(3.18, 1, 1, 60, 1.73e+07),
            "float32 beside": Costs(2.25, 1, 0.626, 28.3, 1.54e+07),
            "float32 beside selected": Costs(2.99, 1, 0.38, 1, 2.07e+07),
            "float32 selected": Costs(2.48, 0.0564, 1.32, 15.6, 1.14e+07),
            "integers": Costs(2.05, 0.0564, 0.588, 51.3, 1.3e+07),
            "integers beside": Costs(4.48, 0.053, 1.28, 1, 1.28e+07),
        },
        "pairwise": {
            "16-bit": Costs(5.24, 0.00613, 1, 74.6, 9.61e+06),
            "16-bit beside": Costs(0.0235, 0.00422, 1, 105, 7.03e+06),
            "float32": Costs(2.48, 0.0126, 1, 56.3, 1.73e+07),
            "float32 beside": Costs(0.0302, 1, 0.0821, 56.3, 1.54e+07),
            "float32 beside selected": Costs(0.0235, 1, 0.0228, 0.093, 2.07e+07),
            "float32 selected": Costs(2.48, 1, 1.17, 25.8, 1.14e+07),
            "integers": Costs(2.48, 0.112, 1.06, 30.2, 1.3e+07),
            "integers beside": Costs(0.0266, 0.00764, 0.112, 11.8, 1.28e+07),
        },
        "loops": {
            "16-bit": Costs(0.0564, 1, 0.0122, 0.105, 9.61e+06),
            "16-bit beside": Costs(45.3, 0.00299, 1, 0.0126, 7.03e+06),
            "float32": Costs(2.99, 0.00256, 0.0312, 0.0235, 1.73e+07),
            "float32 beside": Costs(1.45, 1, 0.0321, 0.0111, 1.54e+07),
            "float32 beside selected": Costs(6.52, 1, 0.38, 3.08, 2.07e+07),
            "float32 selected": Costs(3.6, 1, 1.5, 0.105, 1.14e+07),
            "integers": Costs(2.55, 0.127, 1.28, 6.73, 1.3e+07),
            "integers beside": Costs(0.099, 0.0122, 1, 0.0162, 1.28e+07),
        },
    },
}  # fmt: skip
