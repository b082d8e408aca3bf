"""The ladder of `partition`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops", "two_pass"),
    "gpu": ("three_launches",),
}
"""Every strategy, in the order in which a reader should meet them."""

PREFERENCE = {"cpu": ("two_pass", "loops"), "gpu": ("three_launches",)}
"""The fastest first; each says itself which problems it takes."""
