"""The ladder of `linear_weights_gradient`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops", "threads"),
    "gpu": ("naive", "quarters"),
}

PREFERENCE = {"cpu": ("threads", "loops"), "gpu": ("quarters", "naive")}
