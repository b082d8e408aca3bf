"""Which strategies of `pool2d_gradient` are picked without being named."""

PREFERENCE = {"cpu": ("rows", "threads", "loops"), "gpu": ("cells", "naive")}
"""The fastest first; each says itself which problems it takes."""
