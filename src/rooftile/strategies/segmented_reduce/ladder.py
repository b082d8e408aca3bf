"""The ladder of `segmented_reduce`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops", "pairwise", "balanced"),
    "gpu": ("naive", "teams", "balanced", "by_tiles"),
}
"""Every strategy, in the order in which a reader should meet them."""

PREFERENCE = {
    "cpu": ("balanced", "pairwise", "loops"),
    "gpu": ("by_tiles", "balanced", "naive"),
}
"""The fastest first, by measurements; each says itself which problems it pays for."""
