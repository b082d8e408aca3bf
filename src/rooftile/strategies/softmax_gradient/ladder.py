"""Which strategies of `softmax_gradient` are picked without being named."""

PREFERENCE = {"cpu": ("threads", "loops"), "gpu": ("block_rows", "naive")}
"""The fastest first; each says itself which problems it takes."""
