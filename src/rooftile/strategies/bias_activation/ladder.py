"""The ladder of `bias_activation`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops", "threads"),
    "gpu": ("naive", "vectors"),
}
"""Every strategy, in the order in which a reader should meet them."""

PREFERENCE = {"cpu": ("threads", "loops"), "gpu": ("naive", "vectors")}
"""The fastest first; each says itself which problems it takes."""
