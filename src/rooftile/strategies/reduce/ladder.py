"""The ladder of `reduce`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops", "pairwise", "accumulators", "vectors"),
    "gpu": (
        "naive", "interleaved", "compacted", "tree", "coarsened", "shuffles", "atomic",
        "persistent", "last_block", "vectors", "columns",
    ),
}  # fmt: skip

PREFERENCE = {
    "cpu": ("vectors", "pairwise", "loops"),
    "gpu": ("vectors", "columns", "compacted", "naive"),
}
