"""Which strategies of `linear_gradient` are picked without being named."""

PREFERENCE = {"cpu": ("threads", "loops"), "gpu": ("tiles", "naive")}
"""The fastest first; each says itself which problems it takes."""
