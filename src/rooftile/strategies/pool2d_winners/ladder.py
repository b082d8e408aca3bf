"""Which strategies of `pool2d_winners` are picked without being named."""

PREFERENCE = {"cpu": ("rows", "threads", "loops"), "gpu": ("vector_rows", "naive")}
"""The fastest first; each says itself which problems it takes."""
