"""Which strategies of `pool2d` are picked without being named."""

PREFERENCE = {"cpu": ("rows", "threads", "loops"), "gpu": ("vector_rows", "naive")}
"""The fastest first, by measurements; each says itself which problems it pays for."""
