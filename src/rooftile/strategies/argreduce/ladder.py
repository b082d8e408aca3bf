"""Which strategies of `argreduce` are picked without being named."""

PREFERENCE = {
    "cpu": ("vectors", "loops"),
    "gpu": ("vectors", "columns", "tree", "naive"),
}
"""The fastest first, by measurements; each says itself which problems it pays for."""
