"""Which strategies of `activation_gradient` are picked without being named."""

PREFERENCE = {"cpu": ("threads", "loops"), "gpu": ("vectors", "naive")}
"""The fastest first; each says itself which problems it takes."""
