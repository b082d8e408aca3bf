"""The ladder of `linear_weights_gradient`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops", "threads"),
    "gpu": ("naive", "quarters"),
}
"""Every strategy, in the order in which a reader should meet them."""

PREFERENCE = {"cpu": ("threads", "loops"), "gpu": ("quarters", "naive")}
"""The fastest first; each says itself which problems it takes."""
