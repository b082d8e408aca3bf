"""The ladder of `conv3d`, and which strategies are picked unnamed."""

from rooftile.strategies.contract.costs import Costs

LADDER = {
    "cpu": ("loops", "threads", "vectors", "double"),
    "gpu": ("naive", "constant", "cube", "prism", "coarsened", "march"),
}

PREFERENCE = {
    "cpu": ("double", "vectors", "threads", "loops"),
    "gpu": ("march", "coarsened", "prism", "constant", "naive"),
}
"""The fastest first; the CPU's by measurements, the GPU's by what each moves and multiplies."""

COSTS = {
    "gpu": {
        "march": {
            "float32": Costs(1.81, 0.0796, 3.38, 1, 2.07e+06),
        },
        "coarsened": {
            "float32": Costs(1.76, 0.0747, 0.261, 1, 2.07e+06),
        },
        "prism": {
            "float32": Costs(0.00281, 0.0243, 0.0821, 90, 2.07e+06),
        },
        "constant": {
            "float32": Costs(1.06, 0.109, 0.535, 0.911, 2.07e+06),
        },
        "naive": {
            "float32": Costs(1.13, 0.093, 0.732, 1, 2.07e+06),
        },
    },
}  # fmt: skip
