"""Which strategies of `reduce` are picked without being named."""

PREFERENCE = {
    "cpu": ("vectors", "pairwise", "loops"),
    "gpu": ("vectors", "columns", "compacted", "naive"),
}
"""The fastest first, by measurements; each says itself which problems it pays for."""
