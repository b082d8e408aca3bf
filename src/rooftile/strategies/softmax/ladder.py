"""The ladder of `softmax`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops", "threads", "vectors"),
    "gpu": ("naive", "block_rows"),
}
"""Every strategy, in the order in which a reader should meet them."""

PREFERENCE = {"cpu": ("vectors", "threads", "loops"), "gpu": ("block_rows", "naive")}
"""The fastest first, by measurements; each says itself which problems it pays for."""
