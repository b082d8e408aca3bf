"""The ladder of `linear_cross_entropy`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops", "threads"),
    "gpu": ("naive", "items", "two_layers"),
}

PREFERENCE = {"cpu": ("threads", "loops"), "gpu": ("items", "two_layers", "naive")}
