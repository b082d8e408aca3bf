"""The ladder of `softmax_gradient`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops", "threads"),
    "gpu": ("naive", "block_rows"),
}
"""Every strategy, in the order in which a reader should meet them."""

PREFERENCE = {"cpu": ("threads", "loops"), "gpu": ("block_rows", "naive")}
"""The fastest first; each says itself which problems it takes."""
