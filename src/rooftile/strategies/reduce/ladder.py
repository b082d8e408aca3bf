"""The ladder of `reduce`, and which strategies are picked unnamed."""

from rooftile.strategies.contract.costs import Costs

LADDER = {
    "cpu": ("loops", "pairwise", "accumulators", "vectors"),
    "gpu": (
        "naive", "interleaved", "compacted", "tree", "coarsened", "shuffles", "atomic",
        "persistent", "last_block", "vectors", "columns",
    ),
}  # fmt: skip
"""Every strategy, in the order in which a reader should meet them."""

PREFERENCE = {
    "cpu": ("vectors", "pairwise", "loops"),
    "gpu": ("vectors", "columns", "compacted", "naive"),
}
"""The fastest first, by measurements; each says itself which problems it pays for."""

COSTS = {
    "cpu": {
        "vectors": {
            "16-bit": Costs(3.96, 1, 0.804, 63.8),
            "float32": Costs(3.18, 1, 0.969, 84.6),
            "float32 beside": Costs(2.55, 1, 0.687, 51.3),
            "float32 beside selected": Costs(0.00318, 1, 0.38, 0.607),
            "float32 selected": Costs(0.21, 1, 0.588, 131),
            "integers": Costs(2.63, 0.0702, 0.57, 51.3),
            "integers beside": Costs(4.62, 0.0564, 1.37, 1),
        },
        "pairwise": {
            "16-bit": Costs(0.04, 1, 0.0201, 37.5),
            "float32": Costs(2.99, 1, 0.144, 72.3),
            "float32 beside": Costs(0.404, 1, 0.0847, 65.9),
            "float32 beside selected": Costs(0.00674, 1, 0.0208, 0.0342),
            "float32 selected": Costs(1.45, 1, 1.06, 63.8),
            "integers": Costs(3.96, 0.158, 1.28, 27.5),
            "integers beside": Costs(0.0388, 0.00865, 0.119, 14.2),
        },
        "loops": {
            "16-bit": Costs(0.238, 0.00264, 1, 0.0564),
            "float32": Costs(3.6, 0.00264, 0.0453, 0.0639),
            "float32 beside": Costs(1.65, 0.0029, 1, 0.0111),
            "float32 beside selected": Costs(5.24, 1, 0.368, 2.99),
            "float32 selected": Costs(0.882, 1, 1.28, 54.6),
            "integers": Costs(2.8, 0.174, 1.65, 6.73),
            "integers beside": Costs(2.48, 0.0143, 1, 0.0235),
        },
    },
}  # fmt: skip
"""What each costs, by the case of a problem: fitted by ``benchmarks/costs.py``."""
