"""Which strategies of `softmax_cross_entropy` are picked without being named."""

PREFERENCE = {"cpu": ("threads", "loops"), "gpu": ("block_rows", "naive")}
"""The fastest first; each says itself which problems it takes."""
