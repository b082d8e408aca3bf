"""The ladder of `linear_gradient`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops", "threads"),
    "gpu": ("naive", "tiles"),
}

PREFERENCE = {"cpu": ("threads", "loops"), "gpu": ("tiles", "naive")}
