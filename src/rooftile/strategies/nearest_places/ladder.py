"""The ladder of `nearest_places`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops", "threads"),
    "gpu": ("naive",),
}
"""Every strategy, in the order in which a reader should meet them."""

PREFERENCE = {"cpu": ("threads", "loops"), "gpu": ("naive",)}
"""The fastest first; each says itself which problems it takes."""
