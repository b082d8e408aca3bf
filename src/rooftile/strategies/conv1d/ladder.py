"""The ladder of `conv1d`, and which strategies are picked unnamed."""

from rooftile.strategies.contract.costs import Costs

LADDER = {
    "cpu": ("loops", "threads", "vectors", "double"),
    "gpu": (
        "one_block", "naive", "constant", "tile_three_loads", "tile_two_loads", "tile_input",
        "tile_core", "coarsened",
    ),
}  # fmt: skip

PREFERENCE = {
    "cpu": ("double", "vectors", "threads", "loops"),
    "gpu": ("coarsened", "constant", "naive"),
}
"""The fastest first; each says itself which problems it takes, and which it pays for."""

COSTS = {
    "gpu": {
        "coarsened": {
            "float32": Costs(1.1, 0.0302, 1.28, 1, 8.39e+06),
        },
        "constant": {
            "float32": Costs(0.779, 0.123, 3.28, 70.1, 8.39e+06),
        },
        "naive": {
            "float32": Costs(0.57, 0.0376, 0.57, 2.33, 8.39e+06),
        },
    },
}  # fmt: skip
