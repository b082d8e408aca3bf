"""The ladder of `box_blur`, and which strategies are picked unnamed."""

from rooftile.strategies.contract.costs import Costs

LADDER = {
    "cpu": ("loops", "threads", "running", "vectors"),
    "gpu": ("naive", "tiled", "running", "packed", "mma"),
}

PREFERENCE = {
    "cpu": ("vectors", "running", "threads", "loops"),
    "gpu": ("mma", "packed", "running", "tiled", "naive"),
}
"""The fastest first; each says itself which radii it takes, and which images it pays for."""

COSTS = {
    "gpu": {
        "running": {
            "integers": Costs(12.2, 2.63, 1, 1, 1.08e+06),
        },
        "tiled": {
            "integers": Costs(1.37, 0.105, 0.053, 41.2, 1.08e+06),
        },
        "naive": {
            "integers": Costs(1.76, 0.096, 1, 163, 1.08e+06),
        },
    },
}  # fmt: skip
