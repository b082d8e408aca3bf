"""The ladder of `segmented_scan`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops", "parts"),
    "gpu": ("sequential", "flagged", "look_back", "waves"),
}

PREFERENCE = {"cpu": ("parts", "loops"), "gpu": ("waves", "look_back", "flagged", "sequential")}
