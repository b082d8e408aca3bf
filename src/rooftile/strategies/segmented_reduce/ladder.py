"""The ladder of `segmented_reduce`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops", "pairwise", "balanced"),
    "gpu": ("naive", "teams", "balanced", "by_tiles"),
}

PREFERENCE = {
    "cpu": ("balanced", "pairwise", "loops"),
    "gpu": ("by_tiles", "balanced", "naive"),
}
