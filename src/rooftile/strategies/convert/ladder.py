"""The ladder of `convert`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops", "threads"),
    "gpu": ("naive", "fours"),
}
"""Every strategy, in the order in which a reader should meet them."""

PREFERENCE = {"cpu": ("threads", "loops"), "gpu": ("fours", "naive")}
"""The fastest first; each says itself which problems it takes."""
