"""The ladder of `permute_columns`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops", "threads"),
    "gpu": ("naive", "shared_index", "rows"),
}
"""Every strategy, in the order in which a reader should meet them."""

PREFERENCE = {"cpu": ("threads", "loops"), "gpu": ("rows", "shared_index", "naive")}
"""The fastest first; each says itself which problems it takes."""
