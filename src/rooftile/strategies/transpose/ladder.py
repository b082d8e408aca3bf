"""The ladder of `transpose`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops", "threads", "blocked", "vectors", "in_place"),
    "gpu": ("naive", "naive_reads", "tiled", "padded", "vectors", "in_place"),
}

PREFERENCE = {
    "cpu": ("vectors", "blocked", "threads", "loops"),
    "gpu": ("vectors", "padded", "naive"),
}
"""The fastest first; each says itself which problems it takes.  `in_place` is for ``out is x``."""
