"""The ladder of `argreduce`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops", "vectors"),
    "gpu": ("naive", "tree", "vectors", "columns"),
}
"""Every strategy, in the order in which a reader should meet them."""

PREFERENCE = {
    "cpu": ("vectors", "loops"),
    "gpu": ("vectors", "columns", "tree", "naive"),
}
"""The fastest first, by measurements; each says itself which problems it pays for."""
