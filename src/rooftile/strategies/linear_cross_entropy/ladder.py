"""The ladder of `linear_cross_entropy`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops", "threads"),
    "gpu": ("naive", "items", "two_layers"),
}
"""Every strategy, in the order in which a reader should meet them."""

PREFERENCE = {"cpu": ("threads", "loops"), "gpu": ("items", "two_layers", "naive")}
"""The fastest first; each says itself which problems it takes."""
