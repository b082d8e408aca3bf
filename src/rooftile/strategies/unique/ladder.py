"""The ladder of `unique`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops", "two_pass"),
    "gpu": ("three_launches", "look_back"),
}
"""Every strategy, in the order in which a reader should meet them."""

PREFERENCE = {"cpu": ("two_pass", "loops"), "gpu": ("look_back", "three_launches")}
"""The fastest first; each says itself which problems it takes."""
