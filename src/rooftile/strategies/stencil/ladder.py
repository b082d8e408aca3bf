"""The ladder of `stencil`, and which strategies are picked unnamed."""

from rooftile.strategies.contract.costs import Costs

LADDER = {
    "cpu": ("loops", "threads", "vectors"),
    "gpu": ("naive", "tile", "coarsened", "march", "several_steps", "one_barrier", "neighbours"),
}

PREFERENCE = {
    "cpu": ("vectors", "threads", "loops"),
    "gpu": ("neighbours", "one_barrier", "several_steps", "march", "coarsened", "tile", "naive"),
}
"""The fastest first; the CPU's by measurements, the GPU's by what each moves and multiplies."""

COSTS = {
    "gpu": {
        "one_barrier": {
            "float32": Costs(1.32, 0.0388, 1, 1, 2.83e+06),
        },
        "several_steps": {
            "float32": Costs(1.24, 0.04, 1, 314, 4.37e+07),
        },
        "march": {
            "float32": Costs(1.37, 0.0564, 1, 379, 4.37e+07),
        },
        "coarsened": {
            "float32": Costs(1.65, 0.0439, 1, 131, 4.37e+07),
        },
        "tile": {
            "float32": Costs(0.804, 0.093, 1, 379, 4.37e+07),
        },
        "naive": {
            "float32": Costs(0.626, 0.093, 1, 87.2, 4.37e+07),
        },
    },
}  # fmt: skip
