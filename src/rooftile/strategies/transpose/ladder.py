"""Which strategies of `transpose` are picked without being named."""

PREFERENCE = {
    "cpu": ("vectors", "blocked", "threads", "loops"),
    "gpu": ("vectors", "padded", "naive"),
}
"""The fastest first; each says itself which problems it takes.  `in_place` is for ``out is x``."""
