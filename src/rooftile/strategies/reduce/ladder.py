"""The ladder of `reduce`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops", "pairwise", "accumulators", "vectors"),
    "gpu": (
        "naive", "interleaved", "compacted", "tree", "coarsened", "shuffles", "atomic",
        "persistent", "last_block", "vectors", "columns",
    ),
}  # fmt: skip
"""Every strategy, in the order in which a reader should meet them."""

PREFERENCE = {
    "cpu": ("vectors", "pairwise", "loops"),
    "gpu": ("vectors", "columns", "compacted", "naive"),
}
"""The fastest first, by measurements; each says itself which problems it pays for."""
