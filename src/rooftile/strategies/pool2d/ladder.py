"""The ladder of `pool2d`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops", "threads", "rows"),
    "gpu": ("naive", "vector_rows"),
}
"""Every strategy, in the order in which a reader should meet them."""

PREFERENCE = {"cpu": ("rows", "threads", "loops"), "gpu": ("vector_rows", "naive")}
"""The fastest first, by measurements; each says itself which problems it pays for."""
