"""The ladder of `conv1d`, and which strategies are picked unnamed."""

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
