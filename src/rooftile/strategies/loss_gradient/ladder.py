"""Which strategies of `loss_gradient` are picked without being named."""

PREFERENCE = {"cpu": ("threads", "loops"), "gpu": ("naive", "block_rows")}
"""The fastest first; each says itself which problems it takes."""
