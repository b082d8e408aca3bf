"""Which strategies of `segmented_reduce` are picked without being named."""

PREFERENCE = {
    "cpu": ("balanced", "pairwise", "loops"),
    "gpu": ("by_tiles", "balanced", "naive"),
}
"""The fastest first, by measurements; each says itself which problems it pays for."""
