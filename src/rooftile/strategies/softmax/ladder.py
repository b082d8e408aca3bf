"""Which strategies of `softmax` are picked without being named."""

PREFERENCE = {"cpu": ("vectors", "threads", "loops"), "gpu": ("block_rows", "naive")}
"""The fastest first, by measurements; each says itself which problems it pays for."""
