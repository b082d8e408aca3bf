"""The ladder of `softmax_gradient`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops", "threads"),
    "gpu": ("naive", "block_rows"),
}

PREFERENCE = {"cpu": ("threads", "loops"), "gpu": ("block_rows", "naive")}
