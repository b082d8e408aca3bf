"""The ladder of `segmented_scan`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops", "parts"),
    "gpu": ("sequential", "flagged", "look_back", "waves"),
}
"""Every strategy, in the order in which a reader should meet them."""

PREFERENCE = {"cpu": ("parts", "loops"), "gpu": ("waves", "look_back", "flagged", "sequential")}
"""The fastest first, by measurements; each says itself which problems it pays for."""
