"""The ladder of `record_mean`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops",),
    "gpu": ("naive", "tree"),
}
"""Every strategy, in the order in which a reader should meet them."""

PREFERENCE = {"cpu": ("loops",), "gpu": ("tree", "naive")}
"""The fastest first; each says itself which problems it takes."""
