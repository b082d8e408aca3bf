"""The ladder of `scan`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops", "two_pass", "columns", "vectors"),
    "gpu": (
        "sequential", "kogge_stone", "kogge_stone_double", "brent_kung", "three_phase",
        "hierarchical", "recursive", "sums_first", "columns", "rows", "look_back", "waves",
    ),
}  # fmt: skip

PREFERENCE = {
    "cpu": ("vectors", "columns", "two_pass", "loops"),
    "gpu": ("rows", "waves", "look_back", "columns", "sums_first", "sequential"),
}
