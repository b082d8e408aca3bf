"""The ladder of `grayscale`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops", "threads"),
    "gpu": ("naive", "vectors"),
}

PREFERENCE = {"cpu": ("threads", "loops"), "gpu": ("vectors", "naive")}
"""The fastest first."""
