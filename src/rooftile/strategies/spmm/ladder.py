"""The ladder of `spmm`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops", "threads", "vectors"),
    "gpu": ("naive", "staged"),
}

PREFERENCE = {"cpu": ("vectors", "threads", "loops"), "gpu": ("staged", "naive")}
