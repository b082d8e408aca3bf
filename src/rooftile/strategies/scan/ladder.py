"""The ladder of `scan`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops", "two_pass", "columns", "vectors"),
    "gpu": (
        "sequential", "kogge_stone", "kogge_stone_double", "brent_kung", "three_phase",
        "hierarchical", "recursive", "sums_first", "columns", "rows", "look_back", "waves",
    ),
}  # fmt: skip
"""Every strategy, in the order in which a reader should meet them."""

PREFERENCE = {
    "cpu": ("vectors", "columns", "two_pass", "loops"),
    "gpu": ("rows", "waves", "look_back", "columns", "sums_first", "sequential"),
}
"""The fastest first, by measurements; each says itself which problems it pays for."""
