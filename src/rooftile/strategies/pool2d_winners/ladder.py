"""The ladder of `pool2d_winners`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops", "threads", "rows"),
    "gpu": ("naive", "vector_rows"),
}

PREFERENCE = {"cpu": ("rows", "threads", "loops"), "gpu": ("vector_rows", "naive")}
