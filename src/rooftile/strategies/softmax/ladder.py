"""The ladder of `softmax`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops", "threads", "vectors"),
    "gpu": ("naive", "block_rows"),
}

PREFERENCE = {"cpu": ("vectors", "threads", "loops"), "gpu": ("block_rows", "naive")}
